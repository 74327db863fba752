"""Benchmarks of the toolkit: ``python -m benchmarks`` (``make bench``)."""
