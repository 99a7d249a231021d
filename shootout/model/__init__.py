"""Every value that crosses a stage: the types, the validation of what users write, and the file formats.

Values are frozen and know nothing but themselves. A field's name or comment states its unit; the default
units are seconds and bytes. docs/glossary.md defines the words.
"""
