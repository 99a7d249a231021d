"""Find out why a cell changed: the functions, plans and settings of its two servers."""

OWN = (
    "shootout/explain",
    "templates/explain",
    "tests/explain",
    "benchmarks/explain",
    "docs/explain.md",
)
