"""What the tests share; importable as ``helpers`` (``pythonpath`` in pyproject.toml)."""
