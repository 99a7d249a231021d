"""The reader of logs (engine/learn), which is part of shootout._engine."""

def value_hash(value: bytes) -> int:
    """What a Log has as a value's hash; the same in every process."""

class LogReader:
    """Reads a slow or general query log, which it tells apart, in memory that does not grow with the log."""

    def __init__(self, families: list[str] = []) -> None:
        """`families`: stems of numbered tables, such as sbtest."""
    def feed(self, bytes: bytes) -> None:
        """Read the next piece, of any size. Releases the GIL."""
    def digested(self, text: bytes, count: int, seconds: float, rows_examined: int, rows_sent: int) -> None:
        """Count executions of a kind of statement instead.

        `text` is one of them, or their digest; empty: not known.
        """
    def end_file(self) -> None:
        """What is fed next begins a statement."""
    def finish(self) -> bytes:
        """The JSON of a Log; its kind is "digests" if no line told. The reader is then empty."""
