"""Random values of nested settings, by the kinds that data files record: right ones, and ones of another kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from eks_hardware import facts

TEXTS = st.sampled_from(["a", "", "example", "10.0.0.1", "true", "5"])
WHOLE = st.integers(-2, 300)
_OF_KIND: Mapping[str, st.SearchStrategy[Any]] = {
    "text": TEXTS,
    "bool": st.booleans(),
    "int": WHOLE,
    "number": st.one_of(WHOLE, st.sampled_from([0.5, 1.0])),
    "list": st.just([]),
    "map": st.just({}),
    "null": st.none(),
    "digits": st.sampled_from(["80", "0", "100"]),
    "duration": st.sampled_from(["30s", "1h30m", "0", "1.5s", "100ms"]),
    "plain duration": st.sampled_from(["30s", "1h30m", "100ms"]),
    "quantity": st.sampled_from(["500m", "1Gi", 2, "0.5", "1e3", "512Ki", "1M", "0.001Gi"]),
    "quantity text": st.sampled_from(["500m", "1Gi", "0.5", "512Ki", "1M"]),
    "base64": st.sampled_from(["aGVsbG8=", ""]),
    "certificates": st.just(""),
    "port": st.sampled_from([0, 8080, 65535, "8080", "http"]),
    "threshold": st.sampled_from(["500Mi", "10%", "0%", "12.5%"]),
    "threshold text": st.sampled_from(["500Mi", "10%", "0%"]),
    "bool text": st.sampled_from(["true", "false"]),
    "int text": st.sampled_from(["0", "5", "-1"]),
    "json map text": st.just('{"team": "ml"}'),
    "cidrs text": st.just("10.1.0.0/16,10.2.0.0/16"),
    "interface prefix": st.just("abc"),
    "ip": st.sampled_from(["10.100.0.10", "fd00::a"]),
    "fraction": st.sampled_from([0, 0.075]),
    "prometheus duration": st.sampled_from(["30s", "15d", "1h30m"]),
    "prometheus size": st.sampled_from(["45GB", "0.5GiB"]),
    "host name": st.sampled_from(["node-1", "a.example.com"]),
    "node taint": st.sampled_from(["a:NoSchedule", ["a:NoExecute", ":NoSchedule"]]),
    "label value": st.sampled_from(["", "a", "a_b.c-1"]),
    "url": st.sampled_from(["https://proxy.example.com:3128", "a.example/b c", "localhost:8080"]),
    "image reference": st.sampled_from(["public.ecr.aws/example/tool:v1", "a"]),
    "apiclient command": st.sampled_from([["apiclient"], ["apiclient", "set", "motd=a"]]),
    "host entry": st.sampled_from([["10.0.0.10", ["a.internal", "b"]], ["::1", []]]),
    "cloud provider": st.sampled_from(["aws", "external", ""]),
    "huge pages": st.sampled_from(["512", "0:512,1:256"]),
    "percent text": st.sampled_from(["50%", "100%"]),
}
# No kind accepts a list inside a list of numbers.
WRONG: st.SearchStrategy[Any] = st.sampled_from([[[1]], {"no": {"such": [None]}}])


def right(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of a kind, as ``rules.value_kinds`` reads it."""
    if isinstance(kind, Mapping):
        return nested(kind)
    if kind is None or kind == "*":
        return st.one_of(TEXTS, WHOLE, st.just({}))
    if " or " in kind:
        return st.one_of([right(each) for each in kind.split(" or ")])
    for start in ("one in any case of ", "names of "):
        if kind.startswith(start):
            return st.sampled_from(kind.removeprefix(start).split(", "))
    if kind.startswith("int text ") and ".." in kind:
        return st.just(kind.removeprefix("int text ").partition("..")[0])
    if kind.startswith("one of "):
        return st.sampled_from(kind.removeprefix("one of ").split(", "))
    container, _, inner = kind.partition(" of ")
    if inner in facts.value_kinds()["objects"]["kinds"]:
        return (
            st.lists(_item(inner), max_size=2) if container == "list" else st.dictionaries(st.just("a"), _item(inner))
        )
    if container in ("map", "list") and inner:
        values = right(inner)
        return st.lists(values, max_size=2) if container == "list" else st.dictionaries(st.just("cpu"), values)
    if kind.startswith("int ") and ".." in kind:
        least, _, most = kind[4:].partition("..")
        return st.integers(int(least), int(most) if most else int(least) + 100)
    return _OF_KIND[kind]


def _item(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return mappings of a recorded kind, with all required names."""
    objects = facts.value_kinds()["objects"]
    fields = objects["kinds"][kind]
    # An empty text counts as missing.
    required = {
        name: right(fields[name]).filter(lambda value: value != "") for name in objects["required"].get(kind, ())
    }
    optional = {name: right(below) for name, below in fields.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def nested(draw: st.DrawFn, fields: Mapping[str, Any], wrong: int = 0) -> dict[str, Any]:
    """Return a few settings with right values; ``wrong`` of ten are of another kind."""
    names = [name for name in fields if name not in ("<name>", "*")]
    chosen = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
    found: dict[str, Any] = {}
    for name in chosen:
        kind = fields[name]
        if isinstance(kind, Mapping) and draw(st.integers(0, 9)) >= wrong:
            found[name] = draw(nested(kind, wrong))
        else:
            found[name] = draw(WRONG if draw(st.integers(0, 9)) < wrong else right(kind))
    if "<name>" in fields and draw(st.booleans()):
        found["custom"] = draw(right(fields["<name>"]))
    if wrong and draw(st.integers(0, 9)) < wrong:
        found["no-such-name"] = draw(TEXTS)
    return found


@st.composite
def kubelet_settings(draw: st.DrawFn, wrong: int = 0) -> dict[str, Any]:
    """Return a NodeConfig's kubelet: settings, feature gates and flags of any version."""
    kubelet = facts.kubelet()
    fields = facts.node_config()["kubelet_configuration"]["fields"]
    config = draw(nested(fields, wrong))
    if draw(st.booleans()):
        gates = st.sampled_from([*kubelet["feature_gates"]["by_gate"], "AllAlpha", "NoSuchGate"])
        config["featureGates"] = draw(st.dictionaries(gates, st.booleans(), max_size=2))
    flag = st.sampled_from(sorted(kubelet["flags"]["by_flag"]))
    value = st.sampled_from(["", "=true", "=5", "=10s", "=x", "=a=true"])
    flags = st.builds(lambda name, text: f"--{name}{text}", flag, value)
    return {"config": config, "flags": draw(st.lists(flags, max_size=2))}


CONTAINERD = st.sampled_from(
    [
        "version = 3",
        "version: 3",
        '[plugins."io.containerd.cri.v1.images"]\nmax_concurrent_downloads = 10',
        '[plugins."io.containerd.cri.v1.images"]\nmax_concurrent_downloads = "10"',
        '[plugins."io.containerd.grpc.v1.cri".registry.mirrors."a"]\nendpoint = []',
        "[[plugins]]\n",
        "plugins = 1",
        "a = " + "[" * 200 + "]" * 200,
        "",
        "\x00",
    ]
)


@st.composite
def user_data(draw: st.DrawFn, family: str, wrong: int = 0) -> dict[str, Any]:
    """Return user data of an operating system."""
    if family == "bottlerocket":
        return draw(nested(facts.bottlerocket_settings()["settings"]["fields"], wrong))
    found: dict[str, Any] = {"kubelet": draw(kubelet_settings(wrong))}
    if draw(st.booleans()):
        found["containerd"] = {"config": draw(CONTAINERD)}
    return found


@st.composite
def addons(draw: st.DrawFn, wrong: int = 0) -> dict[str, Any]:
    """Return add-ons with versions and configurations."""
    known = facts.addon_configurations()["configurations"]
    found: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=2, unique=True)):
        found[name] = {"configuration": draw(nested(known[name]["fields"], wrong))}
        if draw(st.integers(0, 4)) == 0:
            versions = ["v1.0.0-eksbuild.1", "v1.22.4-eksbuild.3", "v9.0.0-eksbuild.1", "v0.8.1-eksbuild.1"]
            found[name]["version"] = draw(st.sampled_from(versions))
    return found


CHART_VALUES = st.sampled_from(
    [
        {"kube-prometheus-stack": {"values": {"grafana": {"enabled": "false"}}}},
        {"kube-prometheus-stack": {"values": {"grafana": {"persistence": {"enabled": True}}}}},
        {"kube-prometheus-stack": {"values": {"prometheus": {"prometheusSpec": {"nodeSelector": {"a": "b"}}}}}},
        {"kueue": {"values": {"controllerManager": {"replicas": "two"}}}},
        {"kueue": {"values": {"controllerManager": {"tolerations": [], "nodeSelector": None}}}},
        {"karpenter": {"values": {"logLevel": "loud", "settings": {"batchIdleDuration": "1s"}}}},
        {"cluster-autoscaler": {"values": {"extraArgs": {"scale-down-enabled": False}, "replicaCount": 5000}}},
        {"aws-load-balancer-controller": {"values": {"resources": {"requests": {"cpu": "many"}}}}},
    ]
)


@st.composite
def chart_settings(draw: st.DrawFn, wrong: int = 0) -> dict[str, Any]:
    """Return values of charts whose kinds are recorded."""
    known = facts.value_kinds()["by_chart"]["kinds"]
    chosen = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=2, unique=True))
    return {name: {"values": draw(nested(known[name], wrong))} for name in chosen}


AMOUNTS = st.sampled_from(["1", "0.5", "500m", "64k", "512Ki", "1M", "0.5Mi", "0.001Gi", "300Mi", "1Gi", "2T"])
SYSTEMS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"instance_types": ["t3.micro"]},
        {"instance_types": ["m7i.large"], "kubelet": {"max_pods": 4}},
        {"instance_types": ["m7i.large"], "kubelet": {"kube_reserved": {"cpu": "1"}}},
        {"instance_types": ["m7i.large", "m6i.large"], "scaling": {"min": 1, "max": 1}},
        {"instance_types": ["c7g.large"], "labels": {"a": "b"}},
    ]
)
