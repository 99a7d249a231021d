"""npm's failures in its own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.catalogue import Npm
from shootout.servers.fetch import npm
from tests.servers.fetch.archives import a_failing_client

NPM_SAYS = """\
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error     at ClientRequest.<anonymous> (index.js:130:14)
"""
REASON = "FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1"


@pytest.mark.parametrize(("output", "reason"), [(NPM_SAYS, REASON), ("", "npm printed nothing")])
def test_the_reason_is_found(
    output: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_failing_client("npm", output, tmp_path, monkeypatch)
    with pytest.raises(MeasureError) as caught:
        npm.download(Npm(package="any@1", sha256="0" * 64), tmp_path)
    assert str(caught.value) == f"cannot download any@1: {reason}"
