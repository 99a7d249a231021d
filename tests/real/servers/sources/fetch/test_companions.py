from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shootout.servers.sources import libraries
from shootout.servers.sources.fetch import companions


def test_a_library_that_the_system_lacks_is_brought(tmp_path: Path) -> None:
    name = "libtinfo.so.5"
    assert companions.lacking(["libc.so.6", name]) == [name]
    top = tmp_path / "tree"
    top.mkdir()
    (tmp_path / "stub.c").write_text("char *termname(void) { return 0; }")
    (tmp_path / "main.c").write_text("char *termname(void); int main(void) { termname(); return 0; }")
    stub = tmp_path / name
    subprocess.run(["cc", "-shared", f"-Wl,-soname,{name}", "-o", stub, tmp_path / "stub.c"], check=True)
    subprocess.run(["cc", "-o", top / "mysqld", tmp_path / "main.c", stub], check=True)
    with pytest.raises(libraries.MissingLibrariesError) as caught:
        libraries.find(top / "mysqld", top)
    assert caught.value.names == (name,)
    brought = companions.fetch(caught.value.names, tmp_path / "cache")
    launch = libraries.find(top / "mysqld", top, brought)
    assert launch.variables == {"LD_LIBRARY_PATH": str(brought)}
    assert libraries.run(top / "mysqld", launch).returncode == 0
