"""The change that made a server slower, as a probability for each revision. `shootout bisect`."""

OWN = (
    "shootout/bisect",
    "templates/bisect",
    "tests/bisect",
    "benchmarks/bisect",
    "fixtures/profiles/bisect.toml",
    "docs/bisect.md",
)
