"""The failures of mvn and npm in their own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.catalogue import Maven, Npm
from shootout.servers.sources.fetch import packages, registries
from tests.support.servers.sources.fetch.archives import a_failing_client

MAVEN_SAYS = """\
[\x1b[1;31mERROR\x1b[m] Failed to execute goal org.apache:copy:3.6 (default-cli) on project any: \
Unable to find artifact. -> [Help 1]
[ERROR] To see the full stack trace, run again with -e.
"""
NPM_SAYS = """\
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error     at ClientRequest.<anonymous> (index.js:130:14)
"""
NPM_REASON = "FetchError: request to http://127.0.0.1:1/any failed, reason: connect ECONNREFUSED 127.0.0.1:1"
MAVEN, NPM = Maven(artifact="any:any:1", sha256="0" * 64), Npm(package="any@1", sha256="0" * 64)


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        (MAVEN, MAVEN_SAYS, "any:any:1: Unable to find artifact."),
        (MAVEN, "", "any:any:1: mvn printed nothing"),
        (NPM, NPM_SAYS, f"any@1: {NPM_REASON}"),
        (NPM, "", "any@1: npm printed nothing"),
    ],
)
def test_the_reason_is_found(
    source: Maven | Npm, output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_failing_client(packages.client(source), output, tmp_path, monkeypatch)
    with pytest.raises(MeasureError) as caught:
        registries.download(source, tmp_path)
    assert str(caught.value) == f"cannot download {message}"
