from __future__ import annotations

from shootout.servers.sources.fetch import debian


def test_this_machines_own_mirror_is_found() -> None:
    found = debian.mirror()
    assert found is not None
    assert found.endswith("/")
