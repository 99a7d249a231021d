"""Samples to verdicts: pure functions over run documents, no clock and no server."""
