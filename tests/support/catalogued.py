"""The servers of the catalogue that tests fetch."""

from __future__ import annotations

import os

from shootout.model.catalogue import Source, Vendor
from shootout.servers.sources import catalogue


def reachable(source: Source) -> bool:
    """Whether tests fetch from it: from vendors' own hosts only with SHOOTOUT_TEST_VENDORS=1."""
    return not isinstance(source, Vendor) or os.environ.get("SHOOTOUT_TEST_VENDORS") == "1"


SERVERS = tuple(name for name, entry in catalogue.load().items() if any(map(reachable, entry.sources)))
