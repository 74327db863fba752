"""Properties of ``tests/unit/rules/test_rules_needs.py`` with random input."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.catalogue import load
from helpers.needs import WORDS, said, trainium_pool
from helpers.strategies import group, pools

CATALOGUE = load()


def test_a_release_that_does_is_named() -> None:
    given = group("trn1.32xlarge", needs={"neuron_sdk": "2.29"}, ami={"release_version": "1.35.6-20260714"})
    assert "ami.release_version: 1.35.6-20260625" in said(given)["NEEDS_DRIVER"]
    of_pool = said(**trainium_pool(needs={"neuron_sdk": "2.29"}))["NEEDS_DRIVER_UNREAD"]
    assert "ami.version: v20260625" in of_pool
    bottlerocket = {"family": "bottlerocket", "release_version": "1.47.0-0a1b2c3d"}
    cluster = {"creator_is_admin": True, "kubernetes_version": "1.34"}
    newer = group("g6.xlarge", needs={"nvidia_driver": "590"}, ami=bottlerocket)
    assert "no recorded release has such a driver" in said(newer, cluster=cluster)["NEEDS_DRIVER"]


@st.composite
def any_node(draw: st.DrawFn, name: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "workload": draw(st.sampled_from(["training", "inference", "general"])),
        "efa": draw(st.booleans()),
        "needs": draw(st.fixed_dictionaries({}, optional={key: st.sampled_from(each) for key, each in WORDS.items()})),
    }
    images = [{}, {"family": "bottlerocket"}, {"image_id": "ami-01234567"}]
    releases = ["1.35.6-20260714", "1.34.1-20250920", "1.67.0-0a1b2c3d", "x", "20260714"]
    ami = draw(st.sampled_from([*images, *({"release_version": each} for each in releases)]))
    sharing = [None, {"mig_profile": "1g.10gb"}, {"time_slicing": {"replicas": 2}}]
    names = draw(st.lists(st.sampled_from(CATALOGUE.names), min_size=1, max_size=3, unique=True))
    return group(names, name, ami=ami, gpu_sharing=draw(st.sampled_from(sharing)), **fields)


@settings(max_examples=150, deadline=None)
@given(any_node("g"), st.sampled_from(["us-west-2", "us-east-1", "eu-west-1", "us-iso-east-1"]))
def test_no_rule_raises(given_group: dict[str, Any], region: str) -> None:
    assert all(said(given_group, region=region).values())
    ami = {key: each for key, each in given_group["ami"].items() if key != "release_version"}
    rest = {key: each for key, each in given_group.items() if key not in ("scaling", "ami")}
    assert all(said(region=region, **pools({**rest, "ami": ami, "limits": {"cpu": 64}})).values())
