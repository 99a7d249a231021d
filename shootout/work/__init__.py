"""Count the instructions of each kind of statement under Callgrind; needs no quiet machine."""

OWN = (
    "shootout/work",
    "templates/work",
    "tests/work",
    "benchmarks/work",
    "suites/test_work.py",
    "fixtures/profiles/work.toml",
    "docs/work.md",
)
