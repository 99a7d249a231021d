"""Fetching servers: package clients, archives, and careful unpacking."""
