"""kill -9 under durable load: which confirmed commits are gone? `shootout crash`."""

OWN = ("shootout/crash", "tests/crash", "fixtures/profiles/crash.toml", "docs/crash.md")
