"""Say which statements execute what a change touches, and what no workload executes."""

OWN = (
    "shootout/reach",
    "templates/reach",
    "tests/reach",
    "docs/reach.md",
)
