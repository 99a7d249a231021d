"""Make a workload of what a server ran."""
