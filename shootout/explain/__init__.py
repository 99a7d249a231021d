"""Why a cell changed: functions, plans and settings that differ. `shootout explain`."""

OWN = (
    "shootout/explain",
    "templates/explain",
    "tests/explain",
    "benchmarks/explain",
    "docs/explain.md",
)
