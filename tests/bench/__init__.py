"""What `make bench-engine` is made of."""
