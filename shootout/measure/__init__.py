"""The only stage that loads servers: takes a plan, returns a run document."""
