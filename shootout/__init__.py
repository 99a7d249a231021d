"""Is this MySQL-family server slower than that one, by how much, and how sure are we?"""

__version__ = "1.0.0"
