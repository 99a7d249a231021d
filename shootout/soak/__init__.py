"""A long load on each server in turn: drift, stalls, dips, memory growth. `shootout soak`."""

OWN = (
    "shootout/soak",
    "templates/soak",
    "tests/soak",
    "benchmarks/soak",
    "fixtures/profiles/soak.toml",
    "docs/soak.md",
)
