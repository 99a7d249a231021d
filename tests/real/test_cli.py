from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SHOOTOUT = Path(sys.executable).with_name("shootout")


def test_the_program_itself_exits_like_this() -> None:
    done = subprocess.run([SHOOTOUT, "run", "--threads", "abc"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"shootout: --threads abc: expected .*; found 'abc'\n", done.stderr)
