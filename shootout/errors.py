"""What can go wrong, by whose hands: the command line turns each kind into its exit code."""


class InputError(Exception):
    """Something the user gave is wrong: one to three lines that name it and what was expected (exit 2)."""


class MeasureError(Exception):
    """A server or the machine kept us from measuring; the message carries the server's own words (exit 3)."""
