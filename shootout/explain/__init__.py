"""Find out why a cell changed: the functions, plans and settings of its two servers."""
