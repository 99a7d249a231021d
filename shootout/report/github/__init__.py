"""Texts for GitHub: comments, issues, annotations."""
