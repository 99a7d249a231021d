"""The machine that measures: what it is, how noisy it is, and what makes it unfit."""
