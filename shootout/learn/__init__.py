"""From what a server ran to a workload: a log's statistics, bound to a dump's columns. `shootout learn`."""

OWN = (
    "shootout/learn",
    "templates/learn",
    "tests/learn",
    "benchmarks/learn",
    "docs/learn.md",
    "engine/learn",  # named by engine/Cargo.toml, engine/src/python.rs (add_to), shootout/_engine.pyi
    "engine/fuzz/targets/log.rs",  # named by engine/fuzz/Cargo.toml
    "engine/fuzz/seeds/log",
)
