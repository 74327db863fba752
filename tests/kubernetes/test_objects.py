"""The API server accepts every object of a strategy, in a namespace that exists."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import helm_python
import pytest

from eks_hardware.kubernetes import Bundle, ObjectRelease
from eks_hardware.kubernetes.local_chart import CHART, chart_values
from eks_hardware.kubernetes.references import references_in
from eks_hardware.kubernetes.yaml_text import yaml_text
from helpers.kubernetes import helm, label
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.kubernetes.objects import Object, bundle_of, objects_of, resolved_named
from helpers.paths import SHIPPED, SPECIAL, TESTS

# Kinds that Kubernetes does not have, and the test that checks them against their own definitions.
CUSTOM = {
    "karpenter.sh/v1 NodePool": "kubernetes/test_karpenter_schema.py",
    "karpenter.sh/v1alpha1 NodeOverlay": "kubernetes/test_karpenter_schema.py",
    "karpenter.k8s.aws/v1 EC2NodeClass": "kubernetes/test_karpenter_schema.py",
    "kueue.x-k8s.io/v1beta2 ClusterQueue": "unit/kubernetes/test_kueue.py",
    "kueue.x-k8s.io/v1beta2 LocalQueue": "unit/kubernetes/test_kueue.py",
    "kueue.x-k8s.io/v1beta2 ResourceFlavor": "unit/kubernetes/test_kueue.py",
    "monitoring.coreos.com/v1 ServiceMonitor": "unit/kubernetes/test_monitoring.py",
}

# Plain kinds in use without a namespace; a new kind must be in one of the lists.
CLUSTER_WIDE = {"Namespace", "PersistentVolume", "StorageClass"}
NAMESPACED = {
    *("ConfigMap", "DaemonSet", "LimitRange", "PersistentVolumeClaim", "ResourceQuota", "Service"),
    *("LocalQueue", "ServiceMonitor"),
}
CUSTOM_CLUSTER_WIDE = {"ClusterQueue", "EC2NodeClass", "NodeOverlay", "NodePool", "ResourceFlavor"}

# https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces
BUILT_IN = {"default", "kube-system", "kube-public", "kube-node-lease"}

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
DNS_LABEL = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_KINDS = {"Namespace", "Service"}


def kind_of(item: Mapping[str, Any]) -> str:
    return f"{item['apiVersion']} {item['kind']}"


def is_custom(item: Mapping[str, Any]) -> bool:
    """Return whether the group of a kind is not one of Kubernetes: custom groups have another domain."""
    group, slash, _ = item["apiVersion"].rpartition("/")
    return (bool(slash) and "." in group and not group.endswith(".k8s.io")) or group.startswith("kueue.")


# --- schemas ------------------------------------------------------------------------------------------------------


def test_plain_objects_fit_the_schemas_of_the_strategy_s_version(strategy_name: str) -> None:
    plain = [each for each in objects_of(strategy_name) if kind_of(each) not in CUSTOM]
    assert check_objects(plain, resolved_named(strategy_name).kubernetes.kubernetes_version) == []


def test_an_unknown_field_fails_in_every_plain_object(strategy_name: str) -> None:
    version = resolved_named(strategy_name).kubernetes.kubernetes_version
    for item in objects_of(strategy_name):
        if kind_of(item) not in CUSTOM:
            broken = copy.deepcopy(item)
            (broken.get("spec") or broken)["unknownField"] = 1
            assert check_objects([broken], version) != [], label(item)


def test_every_custom_kind_has_a_check(strategy_name: str) -> None:
    """A kind that Kubernetes does not have is in the list, with a test that names it."""
    for item in objects_of(strategy_name):
        custom = any("does not know" in each for each in check_objects([item], "1.35"))
        assert custom == (kind_of(item) in CUSTOM) == is_custom(item), kind_of(item)


@pytest.mark.parametrize("kind", CUSTOM)
def test_the_check_of_a_custom_kind_exists(kind: str) -> None:
    text = (TESTS / CUSTOM[kind]).read_text(encoding="utf-8")
    api_version, name = kind.split()
    assert name in text
    assert api_version.partition("/")[0].split(".")[0] in text.lower()


def test_a_custom_kind_without_a_check_is_noticed() -> None:
    item = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    assert is_custom(item)
    assert kind_of(item) not in CUSTOM
    assert check_objects([item], "1.35") == ["Widget/a: Kubernetes 1.35 does not know example.com/v1 Widget"]


# --- names, namespaces, order -------------------------------------------------------------------------------------


def test_names_are_valid_and_given_once(strategy_name: str) -> None:
    found = objects_of(strategy_name)
    for item in found:
        pattern = DNS_LABEL if item["kind"] in LABEL_KINDS else SUBDOMAIN
        assert pattern.fullmatch(item["metadata"]["name"]), label(item)
    keys = Counter((kind_of(each), each["metadata"].get("namespace"), each["metadata"]["name"]) for each in found)
    assert [key for key, count in keys.items() if count > 1] == []


def test_namespaces_are_shown_for_kinds_that_have_one(strategy_name: str) -> None:
    for item in objects_of(strategy_name):
        kind = item["kind"]
        assert kind in NAMESPACED | CLUSTER_WIDE | CUSTOM_CLUSTER_WIDE, kind
        assert ("namespace" in item["metadata"]) == (kind in NAMESPACED), label(item)


def before(of: Bundle, name: str) -> Iterator[str]:
    """Return a release and all earlier ones."""
    yield name
    for each in of.release(name).after:
        yield from before(of, each)


def unknown_namespaces(of: Bundle) -> list[str]:
    """Return objects in a namespace that does not exist yet: Helm creates that of a release, and a release its own."""
    wrong = []
    for release in of.object_releases:
        earlier = [of.release(name) for name in before(of, release.name)]
        made = {each.namespace for each in earlier} | {
            item["metadata"]["name"]
            for each in earlier
            if isinstance(each, ObjectRelease)
            for item in each.objects
            if item["kind"] == "Namespace"
        }
        wrong += [
            f"{release.name}: {label(item)}"
            for item in release.objects
            if item["metadata"].get("namespace", "default") not in made | BUILT_IN
        ]
    return wrong


def test_every_namespace_is_there_when_it_is_needed(strategy_name: str) -> None:
    assert unknown_namespaces(bundle_of(strategy_name)) == []


def test_a_namespace_that_nobody_makes_is_noticed() -> None:
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "theirs"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}}
    alone = ObjectRelease(name="objects", namespace="ours", objects=(item,))
    first = ObjectRelease(name="namespaces", namespace="default", objects=(namespace,))
    later = ObjectRelease(name="objects", namespace="ours", objects=(item,), after=("namespaces",))
    assert unknown_namespaces(Bundle((alone,))) == unknown_namespaces(Bundle((first, alone))) != []
    assert unknown_namespaces(Bundle((first, later))) == []


def test_releases_come_after_releases_that_exist(strategy_name: str) -> None:
    found = bundle_of(strategy_name).releases
    names = [each.name for each in found]
    assert len(names) == len(set(names))
    for index, release in enumerate(found):
        # Helm's limit and allowed characters: https://helm.sh/docs/chart_template_guide/builtin_objects/
        assert len(release.name) <= 53
        assert DNS_LABEL.fullmatch(release.name)
        assert DNS_LABEL.fullmatch(release.namespace)
        assert set(release.after) <= set(names[:index]), release.name


def test_custom_objects_come_after_the_chart_that_defines_them(strategy_name: str) -> None:
    definers = {"karpenter": "karpenter-crd", "kueue": "kueue", "monitoring": "kube-prometheus-stack"}
    of = bundle_of(strategy_name)
    for release in of.object_releases:
        groups = {each["apiVersion"].split(".")[0] for each in release.objects if is_custom(each)}
        keys = {getattr(of.release(name), "key", None) for name in before(of, release.name)}
        assert {definers[group] for group in groups} <= keys, release.name


# --- the chart that contains them


def test_the_rendered_chart_is_the_objects(strategy_name: str) -> None:
    """Terraform's text, read and rendered by Helm's engine."""
    for release in bundle_of(strategy_name).object_releases:
        meant: list[Object] = json.loads(json.dumps(release.objects, default=dict))
        values = helm_python.values_from_yaml(yaml_text(chart_values(release.objects)))
        rendered = helm.template(
            CHART,
            values,
            release=release.name,
            namespace=release.namespace,
            kubernetes_version=f"{resolved_named(strategy_name).kubernetes.kubernetes_version}.0",
        )
        assert rendered == meant


def test_references_are_those_that_the_stack_has(strategy_name: str) -> None:
    """No ``@{...}`` remains or is misspelled."""
    for release in bundle_of(strategy_name).releases:
        content = release.objects if isinstance(release, ObjectRelease) else release.values
        text = json.dumps(content, default=dict)
        assert len(references_in(text)) == len(set(re.findall(r"@\{[^}]*\}", text)))


def test_all_strategies_together_have_something_of_every_kind() -> None:
    names = [file.stem for folder in (SHIPPED, SPECIAL) for file in Path(folder).glob("*.yaml")]
    kinds = {kind_of(each) for name in names for each in objects_of(name)}
    assert set(CUSTOM) <= kinds
    assert {"v1 Namespace", "apps/v1 DaemonSet", "storage.k8s.io/v1 StorageClass"} <= kinds
