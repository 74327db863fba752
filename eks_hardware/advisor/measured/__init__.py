"""Measurements next to the advisor's estimates, and what a user's own ones change."""
