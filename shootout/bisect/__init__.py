"""Find the version or commit since which a server is slower."""

OWN = (
    "shootout/bisect",
    "templates/bisect",
    "tests/bisect",
    "benchmarks/bisect",
    "fixtures/profiles/bisect.toml",
    "docs/bisect.md",
)
