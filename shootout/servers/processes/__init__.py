"""Processes: a server starts, is paused, stops, and leaves nothing behind."""
