"""What shootout writes to GitHub: comments, issues, annotations."""
