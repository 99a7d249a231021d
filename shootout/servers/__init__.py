"""Servers: where they come from, how they start, and how they end."""
