"""Measurements compared with the advisor's estimates, and how a user's own measurements correct these."""
