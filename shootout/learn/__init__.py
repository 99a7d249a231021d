"""From what a server ran to a workload: a log's statistics, bound to a dump's columns. `shootout learn`."""

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
