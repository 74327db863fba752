"""Properties of ``tests/unit/rules/test_rules_user_data.py`` with random input."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.rules import shown_codes
from helpers.strategies import SYSTEM, group, pool, pools

_KNOWN = (
    "kubelet config flags cluster containerd instance localStorage strategy featureGates "
    "kubernetes max-pods node-taints host-containers admin settings a/b é x.y"
)


NAMES = st.sampled_from([*_KNOWN.split(), ""])


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "--node-labels=", "RAID0", "a=b"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=3), st.sampled_from(["al2023", "bottlerocket"]))
def test_no_rule_trips_over_user_data(user_data: dict[str, Any], family: str) -> None:
    """For any JSON."""
    fields = {"ami": {"family": family}, "user_data": user_data}
    shown_codes({"node_groups": [SYSTEM, group(**fields)], **pools(pool(**fields))})
