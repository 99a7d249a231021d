"""Reports: text for the terminal, pages for the site, messages for GitHub."""
