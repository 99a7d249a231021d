"""The only stage that loads servers: plan in, run document out."""
