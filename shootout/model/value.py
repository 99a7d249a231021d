"""The base class of all values, and their scalar types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, dataclass_transform

from msgspec import Meta, Struct, StructMeta, field

Positive = Annotated[int, Meta(ge=1)]
Threads = Annotated[int, Meta(ge=1, le=65_535)]
Seconds = Annotated[float, Meta(gt=0)]
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
    """Sets the options that msgspec (and mypy) expect on each class."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _ValueMeta:
        common = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
        return super().__new__(mcls, name, bases, namespace, **common | options)


class Value(Struct, metaclass=_ValueMeta):
    """Base of all values: immutable, keyword-only, and strict about unknown keys."""


DatasetKind = Literal["sbtest", "tpcc", "own"]
