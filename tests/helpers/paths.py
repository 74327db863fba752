"""Paths in the repository."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
GOLDEN = TESTS / "golden"
SHIPPED = ROOT / "config" / "strategies"
SPECIAL = TESTS / "synth" / "strategies"
"""Strategies for features that no shipped strategy uses."""
