"""Server settings: what each means, how each version spells it, and what a server made of it."""
