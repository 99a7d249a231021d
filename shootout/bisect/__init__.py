"""Find the change that made a server slower, with a probability for each version or commit."""

OWN = (
    "shootout/bisect",
    "templates/bisect",
    "tests/bisect",
    "benchmarks/bisect",
    "fixtures/profiles/bisect.toml",
    "docs/bisect.md",
)
