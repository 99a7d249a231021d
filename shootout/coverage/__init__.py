"""Say which statements execute what a change touches, and what no workload executes."""
