"""Say what an upgrade will do to a server: time, statements, plans, settings, and what to set."""
