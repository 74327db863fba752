"""Ranking of hardware by cost, policy, maturity and speed, with reasons."""
