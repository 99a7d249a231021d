"""Count the instructions of each kind of statement under Callgrind; needs no quiet machine."""
