"""From what a server ran to a workload: a log's statistics, bound to the columns of a dump."""
