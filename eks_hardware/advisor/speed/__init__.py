"""Estimates of speed, each with its assumptions."""
