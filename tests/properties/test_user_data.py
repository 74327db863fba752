"""Properties of ``tests/unit/resolve/test_user_data.py`` with random input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.resolve.user_data import bottlerocket_toml, node_config
from helpers.user_data import parsed_mime

tomllib = pytest.importorskip("tomllib")  # Python 3.11

HOSTILE = [
    '"',
    "\\",
    "'",
    "\n--eks-hardware--\n",
    "\t",
    "[settings]",
    "]]>",
    "# x",
    "=",
    "é",
    "😀",
    "\x7f",
    "",
    "--",
    "1",
]


TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))


SCALARS = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


SETTINGS = st.dictionaries(TEXTS, VALUES, max_size=4)


def without_empty_tables(value: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without empty tables, which are not written (except in a list)."""
    kept = {k: without_empty_tables(v) if isinstance(v, dict) else v for k, v in value.items()}
    return {k: v for k, v in kept.items() if v != {}}


@settings(max_examples=60, deadline=None)
@given(SETTINGS)
def test_toml_reads_back(given_settings: dict[str, Any]) -> None:
    read = tomllib.loads(bottlerocket_toml(given_settings)).get("settings", {})
    assert without_empty_tables(given_settings) == read


@settings(max_examples=40, deadline=None)
@given(SETTINGS)
def test_mime_reads_back(given_settings: dict[str, Any]) -> None:
    assert given_settings == parsed_mime(node_config(given_settings))["spec"]
