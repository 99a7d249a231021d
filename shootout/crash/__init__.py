"""Kill each server under durable load, and look for every commit that it had confirmed."""

OWN = ("shootout/crash", "tests/crash", "fixtures/profiles/crash.toml", "docs/crash.md")
