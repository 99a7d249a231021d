"""The faults that shootout reports, each with its exit code."""


class InputError(Exception):
    """The user gave something wrong. One to three lines name it, what was found and what was expected."""

    exit_code = 2


class MeasureError(Exception):
    """A server or the machine prevented the measurement. The message carries the server's own words."""

    exit_code = 3


INTERRUPTED = 130  # the exit code after Ctrl-C

QUOTED_MAX = 500  # characters; MySQL's own messages are shorter


def quoted(text: str) -> str:
    """What others wrote, for a message: on one line, printable, and not endless."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:QUOTED_MAX])
