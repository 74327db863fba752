"""Common parts of messages: field paths, spellings of EKS and Kubernetes, and "did you mean"."""

from __future__ import annotations

from eks_hardware import field_paths, spellings
from eks_hardware.printable import quoted, shown
from eks_hardware.suggestions import close, did_you_mean, misspelt, question
from helpers.cases import in_one_test


def test_paths_are_taken_apart() -> None:
    path = "karpenter.node_pools[gpu].taints[0].key"
    assert field_paths.split(path) == ["karpenter", "node_pools", "gpu", "taints", "0", "key"]
    assert field_paths.steps("node_groups[gpu].tags[a/b]") == ["node_groups", "[gpu]", "tags", "[a/b]"]
    assert (field_paths.list_of(path), field_paths.name_of_item(path)) == ("karpenter.node_pools", "gpu")
    assert field_paths.section(path) == "karpenter"
    assert (field_paths.list_of("region"), field_paths.name_of_item("region")) == ("region", "")
    assert (field_paths.section("region"), field_paths.section("node_groups[a.b]")) == ("region", "node_groups")


def test_paths_are_put_together() -> None:
    assert field_paths.below("", "region") == "region"
    assert field_paths.below("node_groups[gpu]", "efa") == "node_groups[gpu].efa"
    assert field_paths.below("tags", "a/b") == "tags[a/b]"
    assert field_paths.item("node_groups", "gpu") == "node_groups[gpu]"
    assert field_paths.item("zones", 0) == "zones[0]"
    assert dict(field_paths.items("zones", "ab")) == {"zones[0]": "a", "zones[1]": "b"}


@in_one_test(
    ("eks", "kubernetes"),
    [("NO_SCHEDULE", "NoSchedule"), ("NO_EXECUTE", "NoExecute"), ("PREFER_NO_SCHEDULE", "PreferNoSchedule")],
)
def test_taint_effects_in_both_spellings(eks: str, kubernetes: str) -> None:
    assert {spellings.eks_effect(eks), spellings.eks_effect(kubernetes)} == {eks}
    assert {spellings.kubernetes_effect(eks), spellings.kubernetes_effect(kubernetes)} == {kubernetes}
    assert spellings.keeps_pods_off(eks) is spellings.keeps_pods_off(kubernetes) is (eks != "PREFER_NO_SCHEDULE")


def test_capacity_as_eks_reports_it() -> None:
    reported = {name: spellings.capacity_of_eks(names.eks) for name, names in spellings.CAPACITY.items()}
    # A reservation is On-Demand in EKS.
    assert reported == {name: name for name in spellings.CAPACITY} | {"reserved": "on-demand"}
    assert spellings.capacity_of_eks("NEW") == "NEW"


@in_one_test(
    ("word", "known", "meant"),
    [
        ("instanceTypes", ["instance_types", "instance_families"], ("instance_types",)),
        ("us-west-9", ["us-west-1", "us-west-2", "eu-west-1"], ("us-west-2", "us-west-1")),
        ("a1, b2", ["nothing", "alike"], ()),
        ("x" * 5000, ["x"], ()),
    ],
)
def test_names_that_are_close(word: str, known: list[str], meant: tuple[str, ...]) -> None:
    assert close(word, known) == meant


def test_the_question() -> None:
    assert question(["a"]) == "did you mean a?"
    assert question(["a", "b", "c"]) == "did you mean a, b or c?"
    assert did_you_mean("spto", ["spot", "on-demand"]) == "did you mean spot?"
    assert did_you_mean("x", ["spot", "on-demand"]) == "use one of on-demand, spot"
    assert did_you_mean("x", ["spot"], "see the list") == "see the list"


def test_text_is_made_fit_for_a_line() -> None:
    assert (shown("a\nb"), shown("abcdefgh", 6), quoted("\x1b")) == ("a\\nb", "abc...", '"\\x1b"')


@in_one_test(
    ("word", "meant"),
    [("maxPodz", "maxPods"), ("max_pods", "maxPods"), ("podPidsLimit", None), ("maxPodsExpression", None)],
)
def test_a_misspelling_is_nearly_certain(word: str, meant: str | None) -> None:
    """More similar than for a suggestion, because an error depends on it."""
    assert misspelt(word, ["cpuManagerPolicy", "maxPods"]) == meant
