"""Histograms of several samples as one."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
import zlib

import pytest

from shootout._engine import Histogram
from shootout.analysis import histograms


def test_what_is_decoded_once_stays_as_it_was() -> None:
    one, other = Histogram(), Histogram()
    one.record(1_000_000)
    other.record(3_000_000)
    texts = one.encode(), other.encode()
    for _ in range(2):
        assert histograms.merged(texts).count == 2
        assert [histograms.decoded(text).count for text in texts] == [1, 1]
    with pytest.raises(ValueError, match="not a histogram"):
        histograms.merged((*texts, "nonsense"))


SPARE = 64 << 20  # bytes that decoding may take
DECODE = f"""
import resource, sys
from shootout._engine import Histogram
text = sys.stdin.read()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {SPARE}, used + {SPARE}))
try:
    Histogram.decode(text)
except ValueError as error:
    print(error)
"""


def a_text(lowest: int, highest: int, length: int, counts: bytes = b"\x02") -> str:
    """A histogram with this header and these counts."""
    inner = struct.pack(">IIIIQQd", 0x1C849313, length, 0, 3, lowest, highest, 1.0) + counts
    deflated = zlib.compress(inner)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(deflated)) + deflated).decode()


@pytest.mark.parametrize(
    ("lowest", "highest", "length", "counts"),
    [
        (100, 3_600_000_000_000, 2**32 - 1, 0),
        (100, 3_600_000_000_000, 128 << 20, 128 << 20),
        (1, 2**63 - 1, 1, 0),
    ],
    ids=["length", "zeros", "bounds"],
)
def test_a_header_can_claim_anything(lowest: int, highest: int, length: int, counts: int) -> None:
    text = a_text(lowest, highest, length, bytes(counts) or b"\x02")
    done = subprocess.run(
        [sys.executable, "-c", DECODE], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("not a histogram: ")
