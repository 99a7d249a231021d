"""Known changes, simulated starts, other clients, recorded runs: shared by benchmarks and tests."""
