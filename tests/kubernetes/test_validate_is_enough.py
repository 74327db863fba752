"""If ``validate`` finds no error, Karpenter accepts the result, for any settings of a pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from eks_hardware.findings import Severity
from eks_hardware.kubernetes.karpenter import releases
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.references import known, replaced
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.strategies import TODAY, document, pools

HARDWARE: tuple[dict[str, Any], ...] = (
    {"instance_families": ["m7i"], "limits": {"cpu": 5000}},
    {"instance_families": ["g5", "g6"], "limits": {"nvidia.com/gpu": 64}},
    {"instance_families": ["g6f"], "limits": {"nvidia.com/gpu": 64}},
    {"instance_types": ["p5.48xlarge"], "efa": True, "limits": {"nvidia.com/gpu": 64}},
    {"instance_types": ["trn1.32xlarge"], "limits": {"aws.amazon.com/neuron": 64}},
)

# Values that violate a rule of Karpenter's, next to valid ones.
KEYS = st.one_of(
    st.sampled_from(["team", "example.com/team", "Team_a.b", "kubernetes.io/os", "kubernetes.io/hostname"]),
    st.sampled_from(["karpenter.sh/team", "a.karpenter.k8s.aws/b", "karpenter.sh/nodepool", "node.kubernetes.io/a"]),
    st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8})?/[A-Za-z0-9_.-]{1,63}", fullmatch=True),
)
VALUES = st.one_of(
    st.sampled_from(["", "a", "true", "A_b.c-1"]), st.from_regex(r"[A-Za-z0-9_.-]{0,64}", fullmatch=True)
)
TAG_KEYS = st.one_of(
    st.sampled_from(["team", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"]),
    st.sampled_from(["eks:eks-cluster-name", "kubernetes.io/cluster/demo", "kubernetes.io/cluster", "aws:a", "a b"]),
    st.text("abc:/=+@-_. ", min_size=1, max_size=6),
)
TAGS = st.dictionaries(TAG_KEYS, st.text("ab*", max_size=3), max_size=3)
EFFECTS = st.sampled_from(["NoSchedule", "NO_SCHEDULE", "NoExecute", "PreferNoSchedule"])
TAINTS = st.lists(st.fixed_dictionaries({"key": KEYS}, optional={"value": VALUES, "effect": EFFECTS}), max_size=3)
AMOUNTS = st.from_regex(r"[0-9]{1,3}(\.[0-9])?(m|k|Mi|Gi|G)?", fullmatch=True)
RESERVED = st.dictionaries(st.sampled_from(["cpu", "memory", "ephemeral-storage", "pid"]), AMOUNTS, max_size=2)
KUBELET = st.fixed_dictionaries(
    {},
    optional={
        "max_pods": st.integers(3, 738),
        "image_gc_high_threshold_percent": st.integers(0, 101),
        "image_gc_low_threshold_percent": st.integers(-1, 100),
        "system_reserved": RESERVED,
        "kube_reserved": RESERVED,
        "cpu_manager_policy": st.sampled_from(["none", "static"]),
    },
)
DISK = st.fixed_dictionaries(
    {},
    optional={
        "size_gib": st.integers(19, 16385),
        "type": st.sampled_from(["gp3", "io2"]),
        "iops": st.integers(2999, 80001),
        "throughput_mibps": st.integers(124, 1001),
    },
)
DURATIONS = st.one_of(
    st.sampled_from(["never", "1h30m", "90s", "1m30s", "0s", "1h", "h", "", "5", "1d", "30m1h"]),
    st.from_regex(r"([0-9]{1,3}h)?([0-9]{1,3}m)?([0-9]{1,3}s)?", fullmatch=True),
)
CRON = st.sampled_from(["*", "0", "5", "*/5", "1-5", "mon-fri", "59", "60", "1,2", "7", "5-1", "jan", "*/0", ""])
SCHEDULES = st.one_of(
    st.sampled_from(["@daily", "@never", "0 8 * *"]), st.lists(CRON, min_size=5, max_size=5).map(" ".join)
)
BUDGETS = st.fixed_dictionaries(
    {"nodes": st.sampled_from(["0", "10%", "100%", "101%", "3"])},
    optional={
        "reasons": st.lists(st.sampled_from(["Empty", "Drifted", "Underutilized"]), max_size=3),
        "schedule": SCHEDULES,
        "duration": DURATIONS,
    },
)
DISRUPTION = st.fixed_dictionaries(
    {},
    optional={
        "consolidation": st.sampled_from(["when-empty", "when-empty-or-underutilized"]),
        "consolidate_after": DURATIONS,
        "expire_after": DURATIONS,
        "termination_grace_period": DURATIONS,
        "budgets": st.lists(BUDGETS, max_size=2),
    },
)
RESERVATIONS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"id": st.sampled_from(["cr-01234567", "cr-01234568"]), "zone": st.just("usw2-az1")}),
        st.fixed_dictionaries({"tags": TAGS}, optional={"owner_account_id": st.just("111122223333")}),
    ),
    min_size=1,
    max_size=2,
)
SHARING: tuple[dict[str, Any], ...] = (
    {"time_slicing": {"replicas": 4}},
    {"time_slicing": {"replicas": 2, "rename": True}},
    {"mig_profile": "1g.10gb"},
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "labels": st.dictionaries(KEYS, VALUES, max_size=2),
    "taints": TAINTS,
    "tags": TAGS,
    "kubelet": KUBELET,
    "disk": DISK,
    "disruption": DISRUPTION,
    "weight": st.integers(0, 101),
    "gpu_sharing": st.sampled_from(SHARING),
    "ami": st.sampled_from([{"family": "bottlerocket"}, {"version": "latest"}, {"image_id": "ami-01234567"}]),
    "workload": st.sampled_from(["training", "inference", "development"]),
}


@st.composite
def any_document(draw: st.DrawFn) -> dict[str, Any]:
    """Return a strategy with a pool whose hardware is valid, and a few other fields with any value."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True))
    pool = {"name": "pool", **draw(st.sampled_from(HARDWARE)), **{name: draw(FIELDS[name]) for name in names}}
    if draw(st.integers(0, 3)) == 0:
        pool |= {"capacity": ["reserved"], "reservations": draw(RESERVATIONS)}
    return document(**pools(pool), **({"tags": draw(TAGS)} if draw(st.integers(0, 4)) == 0 else {}))


def custom_resources(given_document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the custom resources of a strategy; None if it is refused."""
    try:
        strategy = Strategy.model_validate(given_document)
    except ValidationError:
        return None
    if any(finding.severity is Severity.ERROR for finding in check(strategy, today=TODAY)):
        return None
    return list(_objects(strategy))


def _objects(strategy: Strategy) -> Iterator[dict[str, Any]]:
    resolved = resolve(strategy)
    for each in Bundle(tuple(releases(resolved))).objects:
        yield replaced(each, known(resolved).__getitem__)


def test_what_has_no_error_is_taken() -> None:
    passed = []

    @settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(any_document())
    def holds(given_document: dict[str, Any]) -> None:
        objects = custom_resources(given_document)
        passed.append(objects is not None)
        assert [finding for each in objects or () for finding in check_rules(each)] == []

    holds()
    # Otherwise the test proves nothing.
    assert sum(passed) > 100
