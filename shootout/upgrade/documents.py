"""Documents of upgrades: `upgrades/ID.json` beside the run documents."""

from __future__ import annotations

import re
from pathlib import Path

from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.errors import quoted
from shootout.upgrade.values import UpgradeDocument

_ID = re.compile(r"[0-9A-Za-z-]+")  # as runs have
_LABEL = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]*")  # as references have


def _fault(document: UpgradeDocument) -> str:
    """The first name that is none, or file that lies elsewhere; empty without one."""
    if _ID.fullmatch(document.upgrade) is None:
        return f"upgrade: expected letters and digits, found {quoted(document.upgrade)!r}"
    for label in document.labels:
        if _LABEL.fullmatch(label) is None:
            return f"labels: expected names of servers, found {quoted(label)!r}"
    outside = (
        name
        for name in document.files
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name
    )
    return next((f"it names {quoted(name)}, which lies elsewhere" for name in outside), "")


# Until 2 every option was read by both servers, and what was left out of a my.cnf was not kept; until 3 no
# setting was tested in time.
_FORMAT = Format(3, (lambda record: record | {"format": 2}, lambda record: record | {"format": 3}))
UPGRADES = Store("an upgrade", "upgrades/*.json", UpgradeDocument, "upgrade", _FORMAT, _fault)
