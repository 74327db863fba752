"""Random examples that are the same in every run."""

from helpers.same_examples import pytest_configure

__all__ = ["pytest_configure"]
