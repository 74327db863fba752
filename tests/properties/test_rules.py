"""Any combination results in findings, or in a strategy that resolves, and never in a traceback.

The long test is the same in every run; see ``helpers.random_strategies`` for another or a longer one.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.catalogue import load
from eks_hardware.findings import Finding, Severity
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.scripts import scripts
from eks_hardware.kubernetes.files.tree import tree
from eks_hardware.kubernetes.references import known, replaced
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodePool, ResolvedStrategy, resolve
from eks_hardware.rules import RULES, check
from eks_hardware.rules.explanations import explanations
from eks_hardware.validation import validate
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.random_strategies import KNOWN, SCHEMA, for_each, property_count, random_text
from helpers.strategies import SYSTEM, TODAY, document, group

CATALOGUE = load()
# One type for each kind that behaves differently, so that a few examples cover all of them.
KINDS = {
    (
        kind.hardware,
        kind.architecture,
        kind.max_efa_interfaces,
        kind.ami_types,
        kind.usage_classes,
        kind.placement_strategies,
        bool(kind.withdrawn),
        kind.network_cards[0].max_interfaces,
    ): kind.name
    for kind in map(CATALOGUE.get, CATALOGUE.names)
}
TYPES = st.one_of(st.sampled_from(sorted(KINDS.values())), st.sampled_from(["p5.49xlarge", "zz9.plural", "m6i.-"]))
ZONES = st.sampled_from(["use1-az1", "use1-az3", "use1-az6", "usw2-az1", "usw2-az2", "usw2-az4", "usw1-az1", "zz1-az8"])
REGIONS = st.sampled_from(["us-east-1", "us-west-2", "us-west-1", "eu-west-1", "us-iso-east-1", "us-gov-west-1"])


@st.composite
def groups(draw: st.DrawFn, name: str) -> dict[str, Any]:
    capacity = draw(st.sampled_from(["on-demand", "spot", "reserved", "capacity-block"]))
    fields: dict[str, Any] = {"capacity": capacity, "efa": draw(st.booleans())}
    if capacity in ("reserved", "capacity-block"):
        fields["reservation"] = {"id": "cr-01234567", "zone": draw(ZONES)}
    else:
        fields["zones"] = draw(st.lists(ZONES, max_size=2))
    fields["placement_group"] = draw(st.sampled_from(["auto", "auto", "cluster", "none"]))
    fields["ami"] = draw(
        st.sampled_from(
            [{}, {}, {"family": "bottlerocket"}, {"type": "AL2023_ARM_64_NVIDIA"}, {"image_id": "ami-01234567"}]
        )
    )
    return group(draw(st.lists(TYPES, min_size=1, max_size=2, unique=True)), name, **fields)


FAMILIES = st.one_of(st.sampled_from(sorted({name.partition(".")[0] for name in KINDS.values()})), st.just("zz9"))


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Return the usual value in most examples, so that some pass all rules."""
    return st.integers(0, 9).flatmap(lambda n: st.just(usual) if n else st.sampled_from(others))


RESOURCES = {"nvidia-gpu": "nvidia.com/gpu", "trainium": "aws.amazon.com/neuron", "inferentia": "aws.amazon.com/neuron"}


@st.composite
def any_pool(draw: st.DrawFn, name: str) -> dict[str, Any]:
    ways = st.lists(st.sampled_from(["on-demand", "spot", "reserved", "capacity-block"]), min_size=1, unique=True)
    capacity = draw(st.one_of(st.just(["on-demand"]), ways))
    fields: dict[str, Any] = {"name": name, "capacity": capacity, "efa": draw(st.booleans())}
    hardware = draw(st.sampled_from(["instance_types", "instance_families", "accelerator"]))
    chosen = {"instance_types": TYPES, "instance_families": FAMILIES}.get(hardware)
    some = draw(st.lists(chosen, min_size=1, max_size=2, unique=True)) if chosen is not None else []
    fields[hardware] = some or draw(st.sampled_from([*CATALOGUE.accelerators, "zz9"]))
    if hardware != "instance_types":
        fields["instance_sizes"] = draw(mostly([], ["xlarge"], ["48xlarge"], ["metal", "zz"]))
    if {"reserved", "capacity-block"} & set(capacity):
        by_id = {"id": "cr-01234567", "zone": draw(ZONES)}
        fields["reservations"] = draw(st.lists(st.sampled_from([by_id, {"tags": {"a": "b"}}]), min_size=1, max_size=2))
    fields["zones"] = draw(mostly([], ["use1-az1"], ["usw2-az1", "usw2-az4"], ["zz1-az8"]))
    fields["placement_group"] = draw(mostly("auto", "cluster", "none"))
    images: tuple[dict[str, str], ...] = ({"family": "bottlerocket"}, {"version": "v20260818"})
    fields["ami"] = draw(mostly({}, *images, {"image_id": "ami-01234567"}))
    kinds = [kind for kind in map(CATALOGUE.find, some) if kind] or [
        kind
        for kind in map(CATALOGUE.get, CATALOGUE.names)
        if kind.family in some or (kind.accelerator and kind.accelerator.label_name == fields.get("accelerator"))
    ]
    resource = RESOURCES.get(kinds[0].hardware.value, "cpu") if kinds else "cpu"
    amounts: tuple[Any, ...] = (0, -1, 7, "1k", "500m", "64Ti")
    fields["limits"] = {resource: draw(mostly(5000, *amounts))}
    if draw(st.integers(0, 4)) == 0:
        more = st.sampled_from(["cpu", "memory", "nodes", "nvidia.com/gpu", "aws.amazon.com/neuron"])
        fields["limits"] |= draw(st.dictionaries(more, st.sampled_from(amounts), max_size=2))
    sharing = ({"time_slicing": {"replicas": 4, "rename": True}}, {"mig_profile": "1g.10gb"})
    fields["gpu_sharing"] = draw(mostly(None, *sharing))
    return fields


@st.composite
def any_network(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.integers(0, 3)) == 0:
        of_zones = st.dictionaries(ZONES, st.just("subnet-01234567"), max_size=4)
        existing = {
            "vpc_id": "vpc-01234567",
            "private_subnets": draw(of_zones.filter(bool)),
            "control_plane_subnets": draw(of_zones),
            "pod_subnets": draw(of_zones),
        }
        return {"existing": existing}
    network: dict[str, Any] = {
        "cidr": draw(st.sampled_from(["10.0.0.0/16", "10.0.0.0/22", "10.0.0.0/23", "100.64.0.0/10", "0.0.0.0/0"])),
        "zones": draw(st.one_of(st.integers(2, 6), st.lists(ZONES, max_size=4))),
        "private": draw(st.booleans()),
        "nat_gateways": draw(st.sampled_from(["none", "single", "one-per-zone"])),
    }
    if draw(st.booleans()):
        network["pod_cidr"] = draw(st.sampled_from(["100.64.0.0/16", "100.64.0.0/22", "10.0.0.0/16"]))
    return network


@st.composite
def any_document(draw: st.DrawFn) -> dict[str, Any]:
    given_groups = [draw(groups(f"g{index}")) for index in range(draw(st.integers(0, 2)))]
    system = [SYSTEM] if draw(st.integers(0, 4)) else []
    return document(
        region=draw(REGIONS),
        network=draw(any_network()),
        node_groups=(system + given_groups) or [SYSTEM],
        karpenter=draw(
            st.one_of(
                st.sampled_from([None, {}]),
                st.lists(st.sampled_from("pqr"), unique=True).flatmap(
                    lambda names: st.tuples(*map(any_pool, names)).map(lambda given: {"node_pools": list(given)})
                ),
            )
        ),
    )


@settings(max_examples=100, deadline=None)
@given(any_document())
def test_findings_or_a_resolved_strategy(given_document: dict[str, Any]) -> None:
    strategy = Strategy.model_validate(given_document)
    found = check(strategy, today=TODAY)
    if any(finding.severity is Severity.ERROR for finding in found):
        assert all(finding.message and not finding.message.removesuffix("...").endswith(".") for finding in found)
        return
    check_resolved(resolve(strategy))


def check_resolved(resolved: ResolvedStrategy) -> None:
    """Check the properties of everything that passed the rules."""
    assert len(set(resolved.network.zone_ids)) >= 2
    for each in resolved.node_groups:
        assert each.zone_ids
        assert set(each.zone_ids) <= set(resolved.network.zone_ids)
        assert each.max_pods is None or each.max_pods >= 4
        assert each.ami_type != "CUSTOM" or each.image_id
        if each.placement_group_name or each.efa_interfaces:
            assert len(each.zone_ids) == 1
    for pool in resolved.node_pools:
        check_pool(pool, resolved)


def check_pool(pool: ResolvedNodePool, resolved: ResolvedStrategy) -> None:
    """Check the properties of every pool that passed the rules."""
    assert pool.zone_ids
    assert set(pool.zone_ids) <= set(resolved.network.zone_ids)
    kinds = [CATALOGUE.get(name) for name in pool.instance_types]
    assert {kind.hardware for kind in kinds} == {pool.hardware}
    assert {kind.architecture for kind in kinds} == {pool.architecture}
    # A reservation's zone is only a warning: the existing reservation knows more than the catalogue.
    offered = any(set(pool.zone_ids) & set(CATALOGUE.offered(kind.name, resolved.region)) for kind in kinds)
    assert offered or pool.reservations
    assert "cpu" in pool.limits
    assert (pool.ami_alias is None) == (pool.image_id is not None)
    if pool.placement_group_name or pool.efa_interfaces:
        assert len(pool.zone_ids) == 1
    if pool.efa_interfaces:
        # An EC2NodeClass does not support the interface type `efa`.
        assert {each.interface_type for each in pool.efa_interfaces} == {"interface", "efa-only"}
        assert {kind.efa_interfaces for kind in kinds} == {pool.efa_interfaces}


@settings(max_examples=300, deadline=None)
@given(any_pool("p"), mostly("us-west-2", "us-east-1", "eu-west-1", "us-iso-east-1"))
def test_one_plain_pool(given_pool: dict[str, Any], region: str) -> None:
    strategy = Strategy.model_validate(document(region=region, karpenter={"node_pools": [given_pool]}))
    if not any(finding.severity is Severity.ERROR for finding in check(strategy, today=TODAY)):
        resolved = resolve(strategy)
        check_pool(resolved.node_pools[0], resolved)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(KINDS.values())), REGIONS, st.booleans())
def test_one_plain_group(name: str, region: str, efa: bool) -> None:
    strategy = Strategy.model_validate(
        document(group(name, efa=efa), region=region, node_groups=[group(name, efa=efa)])
    )
    found = check(strategy, today=TODAY)
    if not any(finding.severity is Severity.ERROR and finding.code != "NODES_ALL_TAINTED" for finding in found):
        assert resolve(strategy).node_groups[0].zone_ids


CODES = frozenset(RULES) | frozenset(explanations())
# Tests in tests/kubernetes and tests/unit/kubernetes compare them with their own definitions.
CUSTOM_GROUPS = ("karpenter.sh", "karpenter.k8s.aws", "kueue.x-k8s.io", "monitoring.coreos.com")


def test_a_file_is_refused_or_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "strategy.yaml"
    outcomes: Counter[str] = Counter()

    def holds(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        found = validate([file], today=TODAY)
        for finding in found.findings:
            check_finding(finding, text)
        outcomes["refused" if found.errors else "used"] += 1
        if not found.errors:
            ((loaded, _),) = found.strategies
            check_use(resolve(loaded.strategy))

    for_each(random_text(), holds, count=property_count(100))
    # Otherwise the test proves nothing.
    assert min(outcomes["refused"], outcomes["used"]) > outcomes.total() / 5, outcomes


def test_names_that_mean_something_are_known_by_their_patterns() -> None:
    """Otherwise random names would replace them, and no rule would look further."""
    schema = json.dumps(SCHEMA)
    assert [pattern for pattern in KNOWN if json.dumps(pattern) not in schema] == []


def check_finding(finding: Finding, text: str) -> None:
    """Check that a finding has an explained code, a position in the file, and one line of text."""
    assert finding.code in CODES
    assert finding.position
    assert 1 <= finding.position.line <= text.count("\n") + 2
    assert finding.position.column >= 1
    assert finding.message
    assert not finding.message.removesuffix("...").endswith(".")
    assert str(finding).isprintable()


def check_use(resolved: ResolvedStrategy) -> None:
    """Check that the cluster's objects can be written, and that the API server accepts them."""
    check_resolved(resolved)
    written = bundle(resolved)
    names = known(resolved)
    laid_out = tree(written, name=resolved.name, region=resolved.region, known=names)
    assert {**laid_out.files(), **scripts(laid_out)}
    objects = [
        json.loads(json.dumps(replaced(each, lambda ref: names.get(ref, f"{ref.value}-0a")), default=dict))
        for each in written.objects
    ]
    assert check_objects(objects, resolved.kubernetes.kubernetes_version, custom_groups=CUSTOM_GROUPS) == []
    karpenters = [each for each in objects if "karpenter" in each["apiVersion"]]
    assert [fault for each in karpenters for fault in check_rules(each)] == []
