"""The judge: from a run document and the A/A cells of earlier runs to a comparison.

judgement_cache.py stores what it says; acknowledgements are applied to that.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from shootout.analysis import compare, ledger
from shootout.document import ledgers
from shootout.model.history import LedgerEntry
from shootout.model.run import RunDocument, RunHeader
from shootout.model.verdict import Comparison


class Judge:
    """Judges the runs of one folder; reads each runner's ledger once.

    `skip` receives why lines of a ledger are left out.
    """

    def __init__(self, results: Path, skip: Callable[[str], None] | None = None) -> None:
        self._ledgers = results / ledgers.FOLDER
        self._skip = skip
        self._entries = cache(self._read)

    def compare(self, document: RunDocument, base: str | None = None) -> Comparison:
        """Compare a run's cells with those of the server `base` (default: each block's first).

        Raises InputError for an unknown base, and for a document that cannot be read.
        """
        return compare.compare(document, base=base, ledger_entries=self.earlier(document.header))

    def earlier(self, header: RunHeader) -> list[LedgerEntry]:
        """The A/A cells that the run's runners measured before it."""
        runners = sorted(runner.fingerprint for runner in header.runners)
        return ledger.earlier(header, (entry for runner in runners for entry in self._entries(runner)[0]))

    def digest_before(self, run: str, runner: str) -> str:
        """A digest of the runner's entries of earlier runs."""
        entries, digests = self._entries(runner)
        return digests[bisect_left(entries, run, key=lambda entry: entry.run)]

    def _read(self, runner: str) -> tuple[list[LedgerEntry], list[str]]:
        """The entries, sorted by run and content, and a digest of each prefix."""
        encoded = sorted(
            (e.run, msgspec.json.encode(e), e) for e in ledgers.read(self._ledgers, runner, self._skip)
        )
        prefix = hashlib.sha256()
        digests = [prefix.hexdigest()]
        for _, text, _ in encoded:
            prefix.update(text)
            digests.append(prefix.hexdigest())
        return [entry for _, _, entry in encoded], digests
