"""Servers: how they are referred to, fetched, started and spoken to."""
