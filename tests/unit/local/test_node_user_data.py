"""User data as nodeadm and Bottlerocket read it."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from eks_hardware.local.node_user_data import Boot, UserDataError, boot
from helpers.cases import in_one_test

AUTHORITY = base64.b64encode(b"authority\n").decode()
DETAILS = {"name": "c", "apiServerEndpoint": "https://c", "certificateAuthority": AUTHORITY, "cidr": "172.20.0.0/16"}


def config(**spec: Any) -> str:
    return json.dumps({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})


def mime(*parts: str, kind: str = "application/node.eks.aws") -> bytes:
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="//"', ""]
    for part in parts:
        lines += ["--//", f"Content-Type: {kind}", "", part, ""]
    return "\n".join([*lines, "--//--", ""]).encode()


def booted(*specs: dict[str, Any]) -> Boot:
    return boot(mime(*(config(**spec) for spec in specs), config(cluster=DETAILS)), bottlerocket=False)


def kubelet_flags(*given: str) -> dict[str, Any]:
    return {"kubelet": {"flags": list(given)}}


def test_parts_are_merged_as_by_nodeadm() -> None:
    """Maps are merged, later values count, and the kubelet's flags are all kept."""
    found = booted(
        {
            "kubelet": {
                "config": {"maxPods": 10, "kubeReserved": {"cpu": "1", "memory": "1Gi"}},
                "flags": ["--node-labels=a=1,b=1", "--register-with-taints=x=1:NoSchedule"],
            }
        },
        {
            "kubelet": {
                "config": {"maxPods": 20, "kubeReserved": {"memory": "2Gi"}},
                "flags": ['--node-labels="b=2,c="', "--register-with-taints=y:NoExecute"],
            },
            # nodeadm ignores empty values.
            "cluster": {"name": "", "apiServerEndpoint": None},
        },
    )
    assert found.labels == {"a": "1", "b": "2", "c": ""}
    assert found.taints == ({"key": "y", "value": "", "effect": "NoExecute"},)
    assert found.max_pods == 20
    assert found.reserved == {"kube": {"cpu": "1", "memory": "2Gi"}, "system": {}}
    assert (found.cluster, found.endpoint, found.authority) == ("c", "https://c", b"authority")


def test_karpenter_sets_taints_in_the_configuration() -> None:
    taint = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
    assert booted({"kubelet": {"config": {"registerWithTaints": [taint]}}}).taints == (taint,)
    assert booted({"kubelet": {"config": {"registerWithTaints": None}}}).taints == ()


def test_flags_count_more_than_the_configuration() -> None:
    taint = {"key": "a", "value": "1", "effect": "NoSchedule"}
    found = booted(
        {"kubelet": {"config": {"registerWithTaints": [taint], "maxPods": 5}}},
        kubelet_flags("--register-with-taints=b=2:NoExecute", "--max-pods=7"),
    )
    assert found.taints == ({"key": "b", "value": "2", "effect": "NoExecute"},)
    assert found.max_pods == 7


def test_user_data_can_be_one_node_config_encoded_and_compressed() -> None:
    one = config(cluster=DETAILS).encode()
    given = [one, base64.b64encode(one), gzip.compress(one), base64.b64encode(gzip.compress(mime(one.decode())))]
    assert [boot(each, bottlerocket=False).cluster for each in given] == ["c"] * 4


def test_other_settings_of_al2023() -> None:
    given = {"featureGates": {"InstanceIdNodeName": True}, "instance": {"localStorage": {"strategy": "RAID0"}}}
    found = booted(given)
    assert (found.instance_name, found.instance_store, found.huge_pages) == (True, True, None)
    plain = booted({"instance": {"localStorage": {"strategy": "Mount"}}})
    assert (plain.instance_name, plain.instance_store) == (False, False)


@pytest.mark.parametrize("line", ["sysctl -w vm.nr_hugepages=512", "echo 512 > /proc/sys/vm/nr_hugepages"])
def test_a_script_sets_huge_pages(line: str) -> None:
    script = mime(f"#!/bin/bash\n{line}", kind='text/x-shellscript; charset="us-ascii"')
    both = script.replace(b"--//--", b"--//\nContent-Type: application/node.eks.aws\n\nCONFIG\n--//--")
    assert boot(both.replace(b"CONFIG", config(cluster=DETAILS).encode()), bottlerocket=False).huge_pages == 512


BOTTLEROCKET = f"""
[settings.kubernetes]
cluster-name = "c"
api-server = "https://c"
cluster-certificate = "{AUTHORITY}"
"""


def test_bottlerocket() -> None:
    text = f"""{BOTTLEROCKET}
max-pods = 30
[settings.kubernetes.node-labels]
"a.example/b" = "c"
[settings.kubernetes.node-taints]
"nvidia.com/gpu" = ["true:NoSchedule", ":NoExecute"]
old = "1:NoSchedule"
[settings.kubernetes.eviction-hard]
"memory.available" = "5%"
[settings.kubernetes.kube-reserved]
cpu = "100m"
[settings.kernel.sysctl]
"vm/nr_hugepages" = "512"
"""
    found = boot(text.encode(), bottlerocket=True)
    assert found.labels == {"a.example/b": "c"}
    assert [(each["key"], each["value"], each["effect"]) for each in found.taints] == [
        ("nvidia.com/gpu", "true", "NoSchedule"),
        ("nvidia.com/gpu", "", "NoExecute"),
        ("old", "1", "NoSchedule"),
    ]
    assert (found.max_pods, found.huge_pages, found.instance_store) == (30, 512, False)
    assert found.eviction == {"memory.available": "5%"}
    assert found.reserved["kube"] == {"cpu": "100m"}


# user data, whether of Bottlerocket, message
REFUSED: dict[str, tuple[bytes, bool, str]] = {
    "a script": (b"#!/bin/bash\necho", False, "must have an object of kind NodeConfig"),
    "only a script": (
        mime("#!/bin/sh", kind="text/x-shellscript"),
        False,
        "must have a part of type application/node.eks.aws",
    ),
    "no end": (mime(config(cluster=DETAILS))[:-8], False, "must be a complete MIME multipart document"),
    "not YAML": (mime("a: [b"), False, "must be YAML or JSON"),
    "another version": (
        mime(config().replace("v1alpha1", "v9")),
        False,
        "must have an object of kind NodeConfig and apiVersion",
    ),
    "a list": (mime(config().replace("{}", "[]")), False, "must set spec.cluster.name"),
    "a text": (mime(config().replace("{}", '"a"')), False, "spec must be a map"),
    "no cluster": (mime(config()), False, "must set spec.cluster.name"),
    "no CIDR": (mime(config(cluster={**DETAILS, "cidr": ""})), False, "must set spec.cluster.cidr"),
    "not base64": (mime(config(cluster={**DETAILS, "certificateAuthority": "-"})), False, "must be in base64"),
    "wrong type": (mime(config(cluster=DETAILS, kubelet={"config": {"maxPods": "x"}})), False, "of the wrong type"),
    "wrong map": (mime(config(cluster=DETAILS, kubelet=["x"])), False, "of the wrong type"),
    "Kubernetes label": (
        mime(config(cluster=DETAILS, **kubelet_flags("--node-labels=node-restriction.kubernetes.io/a=b"))),
        False,
        "must not set labels in Kubernetes' own namespaces: node-restriction.kubernetes.io/a",
    ),
    "not gzip": (b"\x1f\x8bxx", False, "is damaged"),
    "MIME for Bottlerocket": (mime(config()), True, "must be TOML"),
    "no settings": (b"a = 1", True, "must have a table 'settings'"),
    "no cluster name": (b"[settings.kubernetes]\nmax-pods = 3", True, "must set settings.kubernetes.cluster-name"),
    "wrong TOML type": ((BOTTLEROCKET + "node-labels = [1]").encode(), True, "of the wrong type"),
}


@in_one_test("data, bottlerocket, message", REFUSED.values(), ids=REFUSED)
def test_a_node_does_not_join(data: bytes, bottlerocket: bool, message: str) -> None:
    with pytest.raises(UserDataError) as raised:
        boot(data, bottlerocket=bottlerocket)
    assert message in str(raised.value)


def test_labels_that_the_kubelet_may_set() -> None:
    given = "node.kubernetes.io/role=a,x.kubelet.kubernetes.io/b=c,topology.kubernetes.io/zone=z,example.com/k=v"
    assert len(booted(kubelet_flags(f"--node-labels={given}")).labels) == 4
