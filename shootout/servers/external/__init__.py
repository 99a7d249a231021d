"""External servers: they run already, and are left as they were found."""
