"""The faults that shootout reports, each with its exit code."""

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Skip = Callable[[str], None]  # receives the reason why something was left out


class InputError(Exception):
    """The user gave something wrong. One to three lines name it, what was found and what was expected."""

    exit_code = 2


class MeasureError(Exception):
    """A server or the machine prevented the measurement. The message carries the server's own words."""

    exit_code = 3


# Faults of a place that a user names or owns, not of this program.
_OF_PLACES = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO),
    *(errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ESTALE),
}


@contextmanager
def of_places() -> Iterator[None]:
    """Raise InputError for a file or a folder that nobody expected to be out of reach."""
    try:
        yield
    except OSError as error:
        if error.filename is None or error.errno not in _OF_PLACES:
            raise
        raise InputError(f"{error.filename}: {error.strerror}") from None


INTERRUPTED = 130  # the exit code after Ctrl-C


@contextmanager
def leaving_out(skip: Skip) -> Iterator[None]:
    """Let `skip` receive why something cannot be written."""
    try:
        yield
    except InputError as error:
        skip(str(error))


# Data quoted in a server's message, up to the key, column or place that it names after that.
_LEAD = (
    r"(?P<lead>(?:Duplicate entry|[Vv]alue:?|near|out of range in|Invalid \w+ text:?) )(?P<quote>['\"])(?!…)"
)
_TAILS = (r" for (?:key|column|function)\b", r" at (?:line|row|position)\b", "")
_VALUES = [re.compile(rf"{_LEAD}.*(?=(?P=quote){tail})", re.DOTALL) for tail in _TAILS]


def without_values(message: str) -> str:
    """Strip a server's message of the values that it quotes: they may be somebody's data."""
    for values in _VALUES:
        message = values.sub(r"\g<lead>\g<quote>…", message)
    return message


# Estimates and counts of a plan, which stay; literals; and what may be a part of a name.
_LITERAL = re.compile(
    r"""(?P<kept>\b(?:cost|rows|time|loops)=[\d.e+-]+|"\w+":\s*"?[\d.]+[KMG]?"?|`[^`]*`)"""
    r"""|(?:\b[xXbB]|\b_\w+ ?)?'(?:[^'\\]|\\.|'')*'"""
    r"""|\b0[xX][0-9a-fA-F]+\b|(?<![\w.$#])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)""",
    re.DOTALL,
)


def without_literals(text: str) -> str:
    """Replace each literal of a statement, or of a plan of one, with `?`: it may be somebody's data."""
    return _LITERAL.sub(lambda found: found["kept"] or "?", text)


QUOTED_MAX = 500  # characters; MySQL's own messages are shorter


def quoted(text: str) -> str:
    """Quote foreign text for a message: on one line, printable, and not endless."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text[:QUOTED_MAX])
