"""What shootout writes to GitHub and to chat: comments, issues, annotations, messages."""
