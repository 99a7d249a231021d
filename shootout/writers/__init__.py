"""Answers in plain text, in Markdown and in other forms; they format, and compute nothing."""
