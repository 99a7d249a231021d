"""Maven's failures in its own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.model.catalogue import Maven
from shootout.servers.fetch import maven
from tests.servers.fetch.archives import a_failing_client

OUTPUT = """\
[\x1b[1;31mERROR\x1b[m] Failed to execute goal org.apache:copy:3.6 (default-cli) on project any: \
Unable to find artifact. -> [Help 1]
[ERROR] To see the full stack trace, run again with -e.
"""


@pytest.mark.parametrize(
    ("output", "reason"), [(OUTPUT, "Unable to find artifact."), ("", "mvn printed nothing")]
)
def test_the_reason_is_found(
    output: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_failing_client("mvn", output, tmp_path, monkeypatch)
    source = Maven(artifact="any:any:1", sha256="0" * 64)
    with pytest.raises(MeasureError) as caught:
        maven.download(source, tmp_path)
    assert str(caught.value) == f"cannot download any:any:1: {reason}"
