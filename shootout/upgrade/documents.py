"""Documents of upgrades: `upgrades/ID.json` beside the run documents."""

from __future__ import annotations

from pathlib import Path

from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.upgrade.values import UpgradeDocument


def _fault(document: UpgradeDocument) -> str:
    """The first file that does not lie in the results; empty without one."""
    outside = (name for name in document.files if Path(name).is_absolute() or ".." in Path(name).parts)
    return next((f"it names {name}, which lies elsewhere" for name in outside), "")


UPGRADES = Store("an upgrade", "upgrades/*.json", UpgradeDocument, "upgrade", Format(1), _fault)
