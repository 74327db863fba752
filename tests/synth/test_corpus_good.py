"""Strategies that go to the limits of the rules: they synthesize, and Terraform and Kubernetes accept the result."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.scripts import scripts
from eks_hardware.kubernetes.files.tree import tree
from eks_hardware.kubernetes.references import known, replaced
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.paths import TESTS
from helpers.strategies import resolved_of
from helpers.terraform_modules import Faults, stack_documents, validate

GOOD = sorted((TESTS / "corpus" / "good").glob("*.yaml"))
# Tests in tests/kubernetes and tests/unit/kubernetes compare them with their own definitions.
CUSTOM_GROUPS = ("karpenter.sh", "karpenter.k8s.aws", "kueue.x-k8s.io", "monitoring.coreos.com")

Documents = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """Return every stack by name; all are synthesized in one app, independent of the date."""
    from eks_hardware._cdk import App
    from eks_hardware.stacks import strategy_stacks

    outdir = tmp_path_factory.mktemp("good") / "cdktf.out"
    app = App(outdir=str(outdir))
    for file in GOOD:
        strategy_stacks(app, resolved_of(file))
    app.synth()
    return stack_documents(outdir)


def test_all_synthesize(documents: Documents) -> None:
    names = {resolved_of(file).name for file in GOOD}
    second = {
        f"{resolved_of(file).name}-kubernetes"
        for file in GOOD
        if resolved_of(file).kubernetes_backend and bundle(resolved_of(file)).releases
    }
    assert set(documents) == names | second
    assert second


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
def test_a_cluster_takes_its_objects(file: Path) -> None:
    resolved = resolved_of(file)
    names = known(resolved)
    laid_out = tree(bundle(resolved), name=resolved.name, region=resolved.region, known=names)
    assert {**laid_out.files(), **scripts(laid_out)}
    objects = [
        json.loads(json.dumps(replaced(each, lambda ref: names.get(ref, f"{ref.value}-0a")), default=dict))
        for each in bundle(resolved).objects
    ]
    version = resolved.kubernetes.kubernetes_version
    assert check_objects(objects, version, custom_groups=CUSTOM_GROUPS) == []
    karpenters = [each for each in objects if "karpenter" in each["apiVersion"]]
    assert [fault for each in karpenters for fault in check_rules(each)] == []


@pytest.fixture(scope="module")
def faults(documents: Documents, tmp_path_factory: pytest.TempPathFactory) -> Faults:
    """Return Terraform's errors for all of them, and for broken ones."""
    broken = {f"{name}{_BROKEN}": copy.deepcopy(documents[name]) for name in PARTS}
    for name, (part, fault) in PARTS.items():
        at: Any = broken[f"{name}{_BROKEN}"]
        for step in part:
            at = next(iter(at.values())) if step == "*" else at[step]
        at.update(fault)
    return {
        **validate(documents, tmp_path_factory.mktemp("terraform")),
        **validate(broken, tmp_path_factory.mktemp("broken")),
    }


def test_terraform_takes_them_all(documents: Documents, faults: Faults) -> None:
    assert {name: faults[name] for name in documents if name in faults} == {}


def test_what_terraform_refuses_is_noticed(faults: Faults) -> None:
    """Break every checked part, in its own stack: otherwise Terraform would not check the others."""
    assert {name: any("nonsense" in each for each in said) for name, said in faults.items()} == {
        f"{name}{_BROKEN}": True for name in PARTS
    }


_BROKEN = "-broken"
# Stack -> a position in it, and the new value; "*" is the first key.
PARTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "access": (("resource", "aws_eks_cluster", "*"), {"nonsense": True}),
    "large-groups": (("resource", "aws_subnet", "*"), {"vpc_id": "${aws_vpc.nonsense.id}"}),
    "keys-given": (("terraform", "backend", "s3"), {"nonsense": "x"}),
    "organization": (("provider", "aws", 0, "assume_role", 0), {"role_arn": "nonsense"}),
    "charts": (("resource", "helm_release", "*"), {"values": ["${aws_vpc.nonsense.id}"]}),
    "large-everything-kubernetes": (("provider", "helm", 0), {"kubernetes": "${data.terraform_remote_state.nonsense}"}),
}
