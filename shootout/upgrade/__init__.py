"""Say what an upgrade will do to a server: time, statements, plans, settings, and what to set."""

OWN = (
    "shootout/upgrade",
    "templates/upgrade",
    "tests/upgrade",
    "benchmarks/upgrade",
    "fixtures/profiles/upgrade.toml",
    "docs/upgrade.md",
)
NEEDS = ("work",)  # capabilities that it calls
