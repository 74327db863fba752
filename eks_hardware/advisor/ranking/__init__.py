"""Which hardware comes first, by cost, policy, maturity and speed, and what is said about it."""
