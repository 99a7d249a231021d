"""Documents of upgrades: `upgrades/ID.json` beside the run documents."""

from __future__ import annotations

from shootout.document.formats import Format
from shootout.document.store import Store
from shootout.upgrade.values import UpgradeDocument

UPGRADES = Store("an upgrade", "upgrades/*.json", UpgradeDocument, "upgrade", Format(1))
