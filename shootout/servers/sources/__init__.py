"""Sources: a reference becomes a tree on this machine, or an image."""
