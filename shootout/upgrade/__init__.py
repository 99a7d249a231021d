"""Say what an upgrade will do to a server: time, statements, execution plans, settings, and what to set."""
