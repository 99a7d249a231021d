import os
import signal

import pytest

from shootout.measure.workplace import interrupting


def test_signals_interrupt_inside_the_block_only() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt), interrupting(signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before
