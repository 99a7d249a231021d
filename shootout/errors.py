"""The faults that shootout reports, each with its exit code."""


class InputError(Exception):
    """The user gave something wrong. One to three lines name it, what was found and what was expected."""

    exit_code = 2


class MeasureError(Exception):
    """A server or the machine prevented the measurement. The message carries the server's own words."""

    exit_code = 3
