"""Learns a workload from what a server ran: its logs, as values."""
