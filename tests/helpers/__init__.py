"""Shared code of the tests, importable as ``helpers`` (``pythonpath`` in pyproject.toml)."""
