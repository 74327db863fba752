"""What the toolkit is measured by: ``python -m benchmarks`` (``make bench``)."""
