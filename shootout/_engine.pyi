"""The load engine (engine/src): drives open connections, makes and sums up table rows, finds changes."""

class LoadError(Exception):
    """A slice that could not go on. `args` is (server, code, message); code 0: no answer from the server."""

class Histogram:
    """Latencies in nanoseconds, three significant digits, 100 ns to one hour; HdrHistogram V2 on the wire."""

    def __init__(self) -> None: ...
    @staticmethod
    def decode(text: str) -> Histogram:
        """Read `encode`'s form. Raises ValueError on anything else."""
    def encode(self) -> str: ...
    def record(self, nanoseconds: int) -> None: ...
    def add(self, other: Histogram) -> None: ...
    def percentile(self, percent: float) -> float:
        """Seconds at or below which `percent` of the values lie; 0 where nothing was recorded."""
    def buckets(self) -> list[tuple[float, int]]:
        """Every non-empty bucket: its middle in seconds, and its count."""
    @property
    def count(self) -> int: ...
    @property
    def mean_s(self) -> float: ...
    @property
    def min_s(self) -> float: ...
    @property
    def max_s(self) -> float: ...

class Slice:
    """What one slice measured. Window: the counted part, both edges of the slice excluded."""

    transactions: float  # in the window; those across an edge count by the share of their time inside
    window_s: float
    completed: int  # whole slice, drain included
    reads: int  # whole slice, statements
    writes: int
    other: int
    # By the server's error code: rolled back, and retried while the window lasts. If the program reconnects,
    # also what was lost (2013), and what kept connections from coming back (2002, 2003, the server's own).
    errors: dict[int, int]
    client_cpu_s: float  # whole slice
    # Of transactions that completed in the window; at a given rate, of those that were to begin in it, and
    # from that moment on.
    latencies: Histogram
    statements: list[Histogram]  # the same for each of the program's kinds

class Engine:
    """All connections of all servers of a block, and the workload program they run."""

    def __init__(self, program: bytes, seed: int, workers: int = 1) -> None:
        """Raise ValueError where `program` (JSON, model.Program) does not parse."""
    def connect(
        self, address: str, user: str, password: str, schema: str, connections: int, timeout_s: float
    ) -> int:
        """Log in to one server, and prepare the program's statements there if it says so.

        `address`: a unix socket's path, or host:port. No TLS, no compression. Returns the server's number.
        Raises LoadError where the server refuses any connection, or gives no answer for `timeout_s`;
        ValueError for an address that is none; KeyboardInterrupt on a signal.
        """
    def slice(self, server: int, ramp_s: float, window_s: float, timeout_s: float) -> Slice:
        """Load one server: ramp, window, then each transaction in flight is finished, or given up if refused.

        The GIL is released. Raises LoadError where the server reports an error that is not a retry, closes
        a connection, or gives one no answer for `timeout_s`; KeyboardInterrupt on a signal. After either the
        connections to that server are closed, and every further slice on it raises the same LoadError.
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
    """Fill the dataset's tables (JSON, model.Dataset), which exist in `schema` and are empty; gives the rows.

    By LOAD DATA LOCAL INFILE: `local_infile` must be on in the server; or else by INSERT of many rows, in
    packets of at most `insert_bytes`, the server's max_allowed_packet. Past the binary log where the account
    may do that, unless `logged`. Each of `workers` connections takes whole tables, whose pages are then laid
    out the same way every time; more workers than tables get ranges of tables, whose pages mix as time has
    it. The GIL is released.
    Raises ValueError where `dataset` does not parse; LoadError where the server cannot be reached, refuses
    something, closes a connection or gives no sign of life for 60 s; KeyboardInterrupt on a signal.
    """

def tables(dataset: bytes) -> list[tuple[str, list[str]]]:
    """The dataset's tables, and the columns of each in the order that rows have them; raises ValueError."""

def checksum(dataset: bytes, table: int) -> tuple[int, int]:
    """How many rows the table of that index has, and their sum of CRC32(CONCAT_WS('#', columns…)).

    Raises ValueError where `dataset` does not parse, IndexError where it has no such table.
    """

def cuts(values: list[float], penalty: float, shortest: int) -> list[int]:
    """Where the series is best cut into pieces of `shortest` values or more: the index of each but the first.

    Least is the sum of absolute deviations from the pieces' medians, and the penalty for each cut.
    """

def saved(values: list[float], orders: list[list[int]], shortest: int) -> list[float]:
    """How much less the absolute deviations are with the best single cut, for each order of the values.

    `orders`: of the values' indexes. Raises ValueError where one is none.
    """
