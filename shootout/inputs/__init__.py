"""What users write, read and checked: profiles, workloads, options, thread lists."""
