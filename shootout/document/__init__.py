"""Run documents: their file format, and which of them may be merged, resumed or compared."""
