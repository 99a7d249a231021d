"""Find the version or commit since which a server is slower."""
