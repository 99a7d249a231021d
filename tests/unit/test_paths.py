import re
import shutil
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shootout.paths import PACKAGE, file_stem

NAMES = st.text(min_size=1, max_size=120) | st.sampled_from(["..", ".", "a/b", "a-b", "a#b", "A:b@c"])


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True))
def test_distinct_names_have_distinct_and_safe_files(found: list[str]) -> None:
    stems = [file_stem(name) for name in found]
    assert len(set(stems)) == len(found)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,101}", stem) and not stem.startswith(".") for stem in stems)


def test_a_safe_name_stays_as_it_is() -> None:
    assert file_stem("20261120T024100Z-7f3a") == "20261120T024100Z-7f3a"


def test_a_checkout_prefers_its_own_files_to_a_copy_that_packing_a_wheel_left(tmp_path: Path) -> None:
    package = tmp_path / "shootout"
    (package / "_data").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("paths.py", "errors.py"):
        shutil.copy(PACKAGE / name, package)
    command = [sys.executable, "-c", "from shootout import paths; print(paths.ROOT, paths.REPORTS)"]

    def places() -> list[str]:
        return subprocess.check_output(command, cwd=tmp_path, env={}, text=True).split()

    assert places() == [str(package / "_data"), "reports"]
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "Cargo.toml").touch()
    assert places() == [str(tmp_path), str(tmp_path / "reports")]
