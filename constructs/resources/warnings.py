"""Warnings of constructs, which the CDKTF command line prints."""

from __future__ import annotations

from collections.abc import Iterable

from eks_hardware._cdk import Annotations, Construct
from eks_hardware.findings import Finding


def add_warnings(construct: Construct, warnings: Iterable[Finding]) -> None:
    """Add the findings to a construct as annotations."""
    for each in warnings:
        Annotations.of(construct).add_warning(f"{each.code} {each.path}: {each.message}")
