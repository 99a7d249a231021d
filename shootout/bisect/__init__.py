"""Find the change that made a server slower, with a probability for each version or commit."""
