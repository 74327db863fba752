"""Properties of ``tests/unit/test_aws_names.py`` with random input."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware import aws_names

PARTS = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", fullmatch=True), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(PARTS, PARTS, st.integers(32, 255))
def test_limited(parts: list[str], others: list[str], limit: int) -> None:
    name = aws_names.limited(*parts, limit=limit)
    assert name == aws_names.limited(*parts, limit=limit)
    assert 1 <= len(name) <= limit
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name)
    if "-".join(parts) != "-".join(others):
        assert name != aws_names.limited(*others, limit=limit)
