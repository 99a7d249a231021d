"""Run a long load; report drift, stalls and memory growth."""

OWN = (
    "shootout/soak",
    "templates/soak",
    "tests/soak",
    "benchmarks/soak",
    "fixtures/profiles/soak.toml",
    "docs/soak.md",
)
