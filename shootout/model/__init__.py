"""The values passed between stages: types, validation of user input, and file formats.

Values are frozen and self-contained. A field's name or comment states its unit; seconds and bytes are the
defaults. docs/glossary.md defines the terms.
"""
