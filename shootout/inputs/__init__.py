"""Reads and checks user input: profiles, workloads, options, acknowledgements, published comparisons."""
