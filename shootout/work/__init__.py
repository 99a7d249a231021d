"""Instructions for each kind of statement, counted under Callgrind. `shootout work`."""

OWN = (
    "shootout/work",
    "templates/work",
    "tests/work",
    "benchmarks/work",
    "suites/test_work.py",
    "fixtures/profiles/work.toml",
    "docs/work.md",
)
