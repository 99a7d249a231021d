"""The base class of all values, and their scalar types."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta, Struct, StructMeta, field

from shootout.errors import quoted

# Every number has bounds, so that no sum, quotient or logarithm of a document's numbers can fail.
COUNT_MAX = 10**15
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Positive = Annotated[int, Meta(ge=1, le=COUNT_MAX)]
Start = Annotated[int, Meta(ge=0, le=1_000_000)]  # the number of a start
Threads = Annotated[int, Meta(ge=1, le=65_535)]
Seconds = Annotated[float, Meta(ge=1e-9, le=1e9)]
Quantity = Annotated[float, Meta(ge=0, le=float(COUNT_MAX))]  # seconds used, transactions, instructions, …
LOG_MAX = 100.0  # of a ratio's logarithm: two throughputs within these bounds differ by less
Difference = Annotated[float, Meta(ge=-1e20, le=1e20)]  # also of a server's counter that wrapped around
RATE_MAX = 10_000_000.0  # transactions/s
THINK_MAX_S = 60.0
Share = Annotated[float, Meta(gt=0, lt=1)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")]  # $ would accept a final line break
Size = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,15}[KMG]?\Z")]  # bytes: 512M, 8G
Protocol = Literal["text", "prepared"]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Family = Literal["mysql", "mariadb", "percona"]
Version = tuple[int, int, int]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _ValueMeta(StructMeta):
    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _ValueMeta:
        # Immutable values make no cycles; untracked ones decode in two thirds of the time.
        common = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, "gc": False}
        return super().__new__(mcls, name, bases, namespace, **common | options)


class Value(Struct, metaclass=_ValueMeta):
    """Base of all values: immutable, keyword-only, and strict about unknown keys."""


T = TypeVar("T")

_decoder: Callable[[Any], msgspec.json.Decoder[Any]] = cache(msgspec.json.Decoder)


def decoded(data: bytes, type: type[T]) -> T:
    """Decode JSON, which nobody vouches for. Raises ValueError with one line of printable text."""
    try:
        value: T = _decoder(type).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(fault_of(error)) from None
    return value


def fault_of(error: Exception) -> str:
    """Describe what decoding found wrong, on one line of printable text: it may quote anything."""
    text = str(error).removeprefix("Object contains ").removeprefix("Object missing required ")
    return quoted(text if text == str(error) or text.startswith("unknown") else f"missing {text}")


DatasetKind = Literal["sbtest", "tpcc", "own", "dump"]
