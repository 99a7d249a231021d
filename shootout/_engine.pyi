"""The load engine (engine/src): drives open connections, generates table rows, finds change points."""

from collections.abc import Sequence

from shootout.learn.reader import LogReader as LogReader
from shootout.learn.reader import value_hash as value_hash

class LoadError(Exception):
    """Why a slice or a load stopped. `args` is (server, code, message); code 0: no error from the server.

    2002, 2003: the server cannot be reached.
    """

class Histogram:
    """Latencies in nanoseconds, three significant digits, 100 ns to one hour."""

    def __init__(self) -> None: ...
    @staticmethod
    def decode(text: str) -> Histogram:
        """Read what `encode` wrote. Raises ValueError on anything else."""
    def encode(self, *, plain: bool = False) -> str:
        """HdrHistogram's V2 format in base64; deflated, unless `plain`."""
    def rounded(self, bits: int, exact: Sequence[tuple[float, float]]) -> Histogram:
        """The same with fewer buckets: outside of the ranges `exact`, in seconds, latencies keep `bits` bits.

        None passes a range, which may be a single point. Mean, shortest and longest latency stay.
        """
    def record(self, nanoseconds: int) -> None: ...
    def add(self, other: Histogram) -> None: ...
    def percentile(self, percent: float) -> float:
        """Seconds at or below which `percent` of the values lie; 0 if empty."""
    def buckets(self) -> list[tuple[float, int]]:
        """The midpoint in seconds and the count of every non-empty bucket."""
    @property
    def count(self) -> int: ...
    @property
    def mean_s(self) -> float: ...
    @property
    def min_s(self) -> float: ...
    @property
    def max_s(self) -> float: ...

class Slice:
    """What one slice measured. The window is the counted part, without the slice's edges."""

    transactions: float  # in the window; one that crosses an edge counts by the share of its time inside
    window_s: float
    completed: int  # in the whole slice, drain included
    reads: int  # statements in the whole slice
    writes: int
    other: int
    # By error code: rolled back, and retried up to nine times in the window. If the program reconnects,
    # also lost connections (2013) and failed attempts to reopen them (2002, 2003 or the server's code).
    errors: dict[int, int]
    refusals: list[tuple[int, int, int, str]]  # of `errors`: kind, code, how often, one of the messages
    client_cpu_s: float  # in the whole slice
    # Transactions that completed in the window; at a given rate those due in it, from that moment on.
    latencies: Histogram
    statements: list[Histogram]  # in the window, for each of the program's kinds
    # For each kind, in the whole slice: answers, the rows that they returned or changed, and the returned
    # rows' bytes.
    returned: list[tuple[int, int, int]]
    stopped_s: float  # this process stood still, above 0.2 s

class Engine:
    """All connections to all servers of a block, and the workload program they run."""

    def __init__(self, program: bytes, seed: int, workers: int = 1) -> None:
        """Raise ValueError if `program` (a JSON Program) does not parse."""
    def connect(
        self, address: str, user: str, password: str, schema: str, connections: int, timeout_s: float
    ) -> int:
        """Log in to one server, and prepare the program's statements if it asks for that.

        `address`: a unix socket's path, or host:port. No TLS, no compression. Returns the server's number.
        Of a host's addresses, it takes the first one at which something listens, IPv4 before IPv6. Raises
        LoadError if the host is not known, if the server refuses any connection, or does not answer within
        `timeout_s`; ValueError if `address` is neither; KeyboardInterrupt on a signal.
        """
    def slice(self, server: int, ramp_s: float, window_s: float, timeout_s: float) -> Slice:
        """Load one server: ramp, window, then drain, in which refused transactions are given up.

        Releases the GIL. Raises LoadError if the server reports an error that is not retried, closes a
        connection, or does not answer within `timeout_s`; KeyboardInterrupt on a signal. Both close the
        server's connections, and every later slice on it raises the same LoadError.
        """
    def count(
        self, server: int, transactions: int, timeout_s: float
    ) -> tuple[int, int, list[tuple[int, int, int, str]]]:
        """Run that many transactions on a server's only connection.

        Returns those completed, statements, and refusals as in Slice.

        An equal program and seed send the same statements to every server, whatever its speed, if none is
        refused. Raises as `slice` does.
        """

def load_rows(
    address: str,
    user: str,
    password: str,
    schema: str,
    dataset: bytes,
    workers: int,
    *,
    insert_bytes: int | None = None,
    logged: bool = False,
) -> int:
    """Fill the tables of `dataset` (a JSON Dataset), which exist in `schema` and are empty; return the rows.

    Uses LOAD DATA LOCAL INFILE, which needs the server's `local_infile`, or multi-row INSERTs in packets of
    at most `insert_bytes`, the server's max_allowed_packet. Unless `logged`, bypasses the binary log if the
    account may. Each of `workers` connections takes whole tables, whose pages are then laid out the same way
    every time; with more workers than tables, ranges of tables, whose pages mix at random. Releases the GIL.

    Raises ValueError if `dataset` does not parse, or `address` is neither a path nor host:port; LoadError if
    the server cannot be reached, refuses something, closes a connection or is silent for 60 s;
    KeyboardInterrupt on a signal.
    """

def tables(dataset: bytes) -> list[tuple[str, list[str]]]:
    """The dataset's tables and their columns, in the order of rows. Raises ValueError."""

def checksum(dataset: bytes, table: int) -> tuple[int, int]:
    """The number of rows of the table with this index, and their sum of CRC32(CONCAT_WS('#', columns…)).

    Raises ValueError if `dataset` does not parse, IndexError if it has no such table.
    """

def cuts(values: list[float], penalty: float, shortest: int) -> list[int]:
    """Where the best pieces of the series begin, without the first; each has at least `shortest` values.

    They minimise the absolute deviations from each piece's median plus `penalty` per cut.
    """

def saved(values: list[float], orders: list[list[int]], shortest: int) -> list[float]:
    """What the best single cut takes off the absolute deviations, for each order of the values.

    Raises ValueError if an order is not a permutation of the indexes.
    """
