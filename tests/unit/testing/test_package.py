"""The package as another team uses it: names, examples in docstrings, and the cost of importing it."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from eks_hardware import testing
from eks_hardware.testing import public_api, template


def test_names_are_sorted_and_there() -> None:
    assert testing.__all__ == sorted(testing.__all__)
    assert [name for name in testing.__all__ if not getattr(testing, name).__doc__] == []


@pytest.mark.parametrize("module", [template, public_api], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
