"""Run a long load; report drift, stalls and memory growth."""
