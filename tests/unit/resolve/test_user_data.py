"""User data as text: golden files, and a document that parses for any settings."""

from __future__ import annotations

import email
import json
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.resolve import ResolvedNodeGroup, resolve
from eks_hardware.resolve.user_data import bottlerocket_toml, node_config
from helpers.cases import in_one_test
from helpers.strategies import group, resolved_group, strategy
from helpers.user_data import parsed_mime

tomllib = pytest.importorskip("tomllib")  # Python 3.11

GOLDEN = Path(__file__).parent / "golden"
LUSTRE = "al2023-lustre.txt"
KUBELET = {
    "max_pods": 42,
    "cpu_manager_policy": "static",
    "topology_manager_policy": "single-numa-node",
    "image_gc_high_threshold_percent": 90,
    "image_gc_low_threshold_percent": 70,
    "system_reserved": {"memory": "1Gi", "cpu": "500m"},
    "kube_reserved": {"ephemeral-storage": "10Gi"},
}
MIRRORS = {"container-registry": {"mirrors": [{"registry": "*", "endpoint": ["https://mirror.example"]}]}}
BOTTLEROCKET = {"family": "bottlerocket"}


def user_data_of(group_: ResolvedNodeGroup) -> str:
    write = bottlerocket_toml if group_.ami_family == "bottlerocket" else node_config
    return write(group_.user_data)


CASES: dict[str, dict[str, Any]] = {
    "al2023-cpu": {"instance_types": "m6i.xlarge"},
    "al2023-gpu-efa": {"instance_types": "p5.48xlarge", "efa": True},
    "al2023-kubelet": {"instance_types": "g5.xlarge", "kubelet": KUBELET, "instance_store": "mount"},
    "al2023-user-data": {
        "instance_types": "inf2.xlarge",
        "user_data": {"containerd": {"config": "version = 3\n"}, "featureGates": {"FastImagePull": True}},
    },
    "bottlerocket-cpu": {"instance_types": "m7g.xlarge", "ami": BOTTLEROCKET},
    "bottlerocket-gpu": {"instance_types": "p5.48xlarge", "efa": True, "ami": BOTTLEROCKET},
    "bottlerocket-neuron": {"instance_types": "inf2.xlarge", "ami": BOTTLEROCKET},
    "bottlerocket-kubelet": {
        "instance_types": "g5.xlarge",
        "kubelet": KUBELET,
        "ami": BOTTLEROCKET,
        "user_data": MIRRORS,
    },
}


@in_one_test("case", CASES)
def test_golden(case: str, request: pytest.FixtureRequest) -> None:
    group_ = resolved_group(**CASES[case])
    text = user_data_of(group_)
    if group_.ami_family == "bottlerocket":
        tomllib.loads(text)
    else:
        parsed_mime(text)
    file = GOLDEN / f"{case}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


def test_a_script_runs_beside_the_node_config(request: pytest.FixtureRequest) -> None:
    group_ = resolve(strategy(group("g5.xlarge"), storage={"fsx_lustre": {}})).node_groups[1]
    text = node_config(group_.user_data, group_.shell)
    _, settings_part, script = email.message_from_string(text).walk()
    assert settings_part.get_content_type() == "application/node.eks.aws"
    assert json.loads(str(settings_part.get_payload()))["spec"] == dict(group_.user_data)
    assert script.get_content_type() == "text/x-shellscript"
    assert str(script.get_payload()).splitlines()[2:] == list(group_.shell)
    file = GOLDEN / LUSTRE
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


def test_a_script_alone_needs_no_node_config() -> None:
    _, script = email.message_from_string(node_config({}, ["true"])).walk()
    assert script.get_content_type() == "text/x-shellscript"
    assert script.get_payload() == "#!/bin/bash\nset -o errexit -o nounset -o pipefail\ntrue"


def test_no_golden_file_is_left_over() -> None:
    assert {f"{case}.txt" for case in CASES} | {LUSTRE} == {file.name for file in GOLDEN.iterdir()}


def test_kubelet_settings_on_both_systems() -> None:
    al2023 = parsed_mime(user_data_of(resolved_group(**CASES["al2023-kubelet"])))["spec"]
    bottlerocket = tomllib.loads(user_data_of(resolved_group(**CASES["bottlerocket-kubelet"])))["settings"]
    assert al2023 == {
        "kubelet": {
            "config": {
                "maxPods": 42,
                "cpuManagerPolicy": "static",
                "topologyManagerPolicy": "single-numa-node",
                "imageGCHighThresholdPercent": 90,
                "imageGCLowThresholdPercent": 70,
                "systemReserved": {"memory": "1Gi", "cpu": "500m"},
                "kubeReserved": {"ephemeral-storage": "10Gi"},
            }
        },
        "instance": {"localStorage": {"strategy": "Mount"}},
    }
    assert bottlerocket["kubernetes"] == {
        "max-pods": 42,
        "cpu-manager-policy": "static",
        "topology-manager-policy": "single-numa-node",
        "image-gc-high-threshold-percent": "90",
        "image-gc-low-threshold-percent": "70",
        "system-reserved": {"memory": "1Gi", "cpu": "500m"},
        "kube-reserved": {"ephemeral-storage": "10Gi"},
    }
    assert bottlerocket["container-registry"] == MIRRORS["container-registry"]


# --- for any settings, the text parses to them


def test_null_is_left_out_of_toml() -> None:
    text = bottlerocket_toml({"a": None, "b": {"c": None, "d": [1, None, {"e": None, "f": 2}]}})
    assert tomllib.loads(text) == {"settings": {"b": {"d": [1, {"f": 2}]}}}
