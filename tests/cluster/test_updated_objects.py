"""A changed setting is an update that the API server accepts, or `diff` says that it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware import facts
from eks_hardware.local.cluster import Cluster, ClusterError
from eks_hardware.models import NodePoolSpec, Strategy
from eks_hardware.resolve import resolve
from helpers.kubernetes.objects import manifest_list, objects_in
from helpers.polling import eventually

STRICT = ("--validate=strict", "--server-side", "--force-conflicts", "-f", "-")

BASE = """
version: 1
name: changes
region: us-west-2
cluster: {creator_is_admin: true}
node_groups:
  - {name: system, workload: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 3}}
  - {name: efa, workload: training, instance_types: [p5.48xlarge], efa: true, scaling: {max: 2}}
karpenter:
  node_pools:
    - {name: l4, workload: inference, instance_types: [g6.xlarge, g6.2xlarge], limits: {nvidia.com/gpu: 8}}
kubernetes:
  delivery: manifests
  teams: [{name: research, quota: {cpu: "64"}}]
storage:
  fsx_lustre: {size_gib: 4800, throughput_mibps_per_tib: 500}
  efs: {}
  s3_buckets: [{name: acme-datasets}]
"""

POOL = "karpenter.node_pools.0"
CHANGES: dict[str, dict[str, Any]] = {
    "instance types": {f"{POOL}.instance_types": ["g6e.xlarge"]},
    "families": {f"{POOL}.instance_types": None, f"{POOL}.instance_families": ["g6", "g6e"]},
    "capacity": {f"{POOL}.capacity": ["spot", "on-demand"]},
    "a reservation": {
        f"{POOL}.instance_types": ["p5.48xlarge"],
        f"{POOL}.capacity": ["reserved"],
        f"{POOL}.reservations": [{"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}],
    },
    "an accelerator": {f"{POOL}.instance_types": None, f"{POOL}.accelerator": "l4"},
    "sizes": {
        f"{POOL}.instance_types": None,
        f"{POOL}.instance_families": ["g6"],
        f"{POOL}.instance_sizes": ["xlarge", "4xlarge"],
    },
    "workload": {f"{POOL}.workload": "development"},
    "zones": {f"{POOL}.zones": ["usw2-az1"]},
    "placement group": {f"{POOL}.instance_types": ["p5.48xlarge"], f"{POOL}.placement_group": "cluster"},
    "limits": {f"{POOL}.limits": {"nvidia.com/gpu": 16, "cpu": 100}},
    "weight": {f"{POOL}.weight": 10},
    "labels and taints": {
        f"{POOL}.labels": {"team": "a"},
        f"{POOL}.taints": [{"key": "team", "value": "a", "effect": "NoExecute"}],
    },
    "no taint of the accelerator": {f"{POOL}.accelerator_taint": False},
    "tags": {f"{POOL}.tags": {"cost-center": "4711"}},
    "user data, metadata and monitoring": {
        f"{POOL}.user_data": {"kubelet": {"config": {"serializeImagePulls": True}}},
        f"{POOL}.pods_use_imds": True,
        f"{POOL}.detailed_monitoring": True,
    },
    "instance store": {f"{POOL}.instance_store": "none"},
    "disk": {f"{POOL}.disk": {"size_gib": 500}},
    "Bottlerocket": {f"{POOL}.ami": {"family": "bottlerocket"}},
    "a release of the image": {f"{POOL}.ami": {"version": "v20260820"}},
    "an own image": {f"{POOL}.ami": {"image_id": "ami-0123456789abcdef0"}},
    "kubelet": {f"{POOL}.kubelet": {"max_pods": 50}},
    "shared GPUs": {f"{POOL}.gpu_sharing": {"time_slicing": {"replicas": 4}}},
    "disruption": {f"{POOL}.disruption": {"consolidate_after": "1h", "expire_after": "720h"}},
    "EFA": {f"{POOL}.instance_types": ["p5.48xlarge"], f"{POOL}.efa": True},
    "quota of a team": {"kubernetes.teams.0.quota": {"cpu": "128", "nvidia.com/gpu": 8}},
    "defaults of a team": {"kubernetes.teams.0.container_defaults": {"requests": {"cpu": "100m"}}},
    "another team": {"kubernetes.teams": [{"name": "research", "quota": {"cpu": "64"}}, {"name": "serving"}]},
    "size of Lustre": {"storage.fsx_lustre.size_gib": 9600},
    "a bucket to write to": {"storage.s3_buckets.0.read_only": False},
    "another bucket": {"storage.s3_buckets": [{"name": "acme-datasets"}, {"name": "acme-models"}]},
}


def changed(fields: Mapping[str, Any]) -> Strategy:
    """Return the strategy with other values, by the path of the field; None removes one."""
    document = yaml.safe_load(BASE)
    for path, value in fields.items():
        *parents, last = path.split(".")
        place: Any = document
        for each in parents:
            place = place[int(each)] if each.isdigit() else place[each]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return Strategy.model_validate(document)


@pytest.fixture(scope="module")
def server(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Cluster(tmp_path_factory.mktemp("cluster"), programs=tools) as running:
        running.kubectl("create", "-f", str(tools["karpenter-files"] / "crds"))
        running.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
        running.kubectl("apply", *STRICT, stdin=manifest_list(objects_in(resolve(changed({})))))
        yield running


def test_every_field_of_a_pool_is_changed() -> None:
    """``docs/guides/change-a-setting.md`` lets users change each of them."""
    fields = {path.split(".")[3] for change in CHANGES.values() for path in change if path.startswith(POOL)}
    # Another name is another pool, and nothing is made of needs.
    assert NodePoolSpec.model_fields.keys() - fields == {"name", "needs"}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_an_update(server: Cluster, name: str) -> None:
    objects = objects_in(resolve(changed(CHANGES[name])))
    assert objects != objects_in(resolve(changed({})))
    server.kubectl("apply", *STRICT, "--dry-run=server", stdin=manifest_list(objects))


def test_what_another_file_system_means_is_in_the_diff(server: Cluster) -> None:
    """Volumes name their file system, and the API server refuses to change them."""
    with pytest.raises(ClusterError) as refused:
        server.kubectl(
            "apply", *STRICT, "--dry-run=server", stdin=manifest_list(objects_in(resolve(changed({})), id_end="0b"))
        )
    said = str(refused.value)
    assert set(re.findall(r'(\w+)(?:\.[\w.]+)? "([\w.-]+)" is invalid', said)) == {
        ("PersistentVolume", "fsx-lustre"),
        ("PersistentVolume", "team.research.fsx-lustre"),
        ("StorageClass", "efs"),
    }
    resources = facts.replacements()["resources"]
    of_lustre = resources["aws_fsx_lustre_file_system"].get("replaced", "")
    assert "delete the claims, then the PersistentVolumes of fsx-lustre" in of_lustre
    assert "storage class efs: delete it" in resources["aws_efs_file_system"].get("replaced", "")


def test_claimed_volumes_stay_until_their_claim_is_deleted(server: Cluster) -> None:
    """``uninstall.sh`` and Terraform wait for them in the same way."""
    name, namespace = "s3-acme-datasets", "research"
    volume = f"team.{namespace}.{name}"
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Ti"}},
        },
    }
    server.kubectl("create", "-f", "-", stdin=manifest_list([claim]))
    phase = ("get", "persistentvolumeclaim", name, f"--namespace={namespace}", "--output=jsonpath={.status.phase}")
    assert eventually(lambda: server.kubectl(*phase), "Bound", seconds=120) == "Bound"
    storage = [
        each for each in objects_in(resolve(changed({}))) if each["kind"] in ("PersistentVolume", "StorageClass")
    ]
    with pytest.raises(ClusterError, match="timed out"):
        server.kubectl("delete", "-f", "-", "--wait", "--timeout=5s", stdin=manifest_list(storage))
    volumes = ("get", "persistentvolumes", "--output=name")
    assert server.kubectl(*volumes).split() == [f"persistentvolume/{volume}"]
    server.kubectl("delete", "persistentvolumeclaim", name, f"--namespace={namespace}")
    assert eventually(lambda: server.kubectl(*volumes), "", seconds=120) == ""
