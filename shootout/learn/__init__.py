"""Make a workload of what a server ran."""

OWN = (
    "shootout/learn",
    "templates/learn",
    "tests/learn",
    "benchmarks/learn",
    "docs/learn.md",
    "engine/learn",
    "engine/fuzz/targets/log.rs",
    "engine/fuzz/seeds/log",
)
