"""Documents of crashes: `crashes/CRASH.json` beside the run documents."""

from __future__ import annotations

from shootout.crash.values import CrashDocument
from shootout.document.formats import Format
from shootout.document.store import Store

CRASHES = Store("a document of crashes", "crashes/*.json", CrashDocument, "crash", Format(1))
