"""The run document: its file format, and when two documents may be joined or compared."""
