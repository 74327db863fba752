"""Kubernetes quantities as numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from eks_hardware.units import amount
from helpers.cases import in_one_test


@in_one_test(
    ("quantity", "expected"),
    [
        (16, Fraction(16)),
        ("16", Fraction(16)),
        ("500m", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
        ("2k", Fraction(2000)),
        ("1.5Gi", Fraction(3 * 1024**3, 2)),
        ("1Ki", Fraction(1024)),
        ("3M", Fraction(3 * 10**6)),
        ("1G", Fraction(10**9)),
        ("1Ti", Fraction(1024**4)),
        ("1T", Fraction(10**12)),
        ("1Pi", Fraction(1024**5)),
        ("1P", Fraction(10**15)),
        ("1Ei", Fraction(1024**6)),
        ("1E", Fraction(10**18)),
    ],
)
def test_amount(quantity: str | int, expected: Fraction) -> None:
    assert expected == amount(quantity)


@in_one_test("text", ["", "Gi", "1 Gi", "1K", "1e3", "-1", "1.", "1GB"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        amount(text)
