"""Volumes and storage classes: claims bind to the right ones, and the API accepts them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.kubernetes import Reference, bundle
from eks_hardware.kubernetes.references import replaced
from eks_hardware.kubernetes.storage import RELEASE, bucket_volume, releases
from eks_hardware.resolve import resolve
from eks_hardware.spellings import EBS_CLASS, EFS_CLASS, LUSTRE_CLASS
from helpers.cases import in_one_test
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.paths import ROOT
from helpers.strategies import strategy

ALL: dict[str, Any] = {
    "fsx_lustre": {"size_gib": 4800},
    "efs": {},
    "s3_buckets": [{"name": "data-in"}, {"name": "data-out", "read_only": False}],
}


def storage_objects(
    teams: tuple[str, ...] = (), addons: tuple[str, ...] = (), **storage: Any
) -> dict[str, Mapping[str, Any]]:
    """Return the objects by kind and name."""
    resolved = resolve(
        strategy(
            storage=storage,
            cluster={"addons": {name: {} for name in addons}},
            kubernetes={"teams": [{"name": team} for team in teams]},
        )
    )
    found = [item for release in releases(resolved) for item in release.objects]
    named = {f"{item['kind']}/{item['metadata']['name']}": item for item in found}
    assert len(named) == len(found)
    return named


def test_no_storage_is_no_release() -> None:
    assert storage_objects() == {}


def test_the_bundle_has_it() -> None:
    assert bundle(resolve(strategy(storage=ALL))).release(RELEASE).namespace == "kube-system"


def test_classes_have_the_names_that_rules_look_for() -> None:
    found = storage_objects((), ("aws-ebs-csi-driver",), **ALL)
    classes = {name for kind, _, name in (key.partition("/") for key in found) if kind == "StorageClass"}
    assert classes == {EBS_CLASS, EFS_CLASS, LUSTRE_CLASS}


@in_one_test("version", sorted(facts.eks()["versions"]["supported"]))
def test_the_api_takes_every_object(version: str) -> None:
    found = list(storage_objects(("research",), ("aws-ebs-csi-driver",), **ALL).values())
    assert check_objects([dict(item) for item in found], version) == []


def test_lustre_is_one_volume_that_a_claim_of_its_class_binds() -> None:
    found = storage_objects(fsx_lustre=ALL["fsx_lustre"])
    assert set(found) == {"StorageClass/fsx-lustre", "PersistentVolume/fsx-lustre"}
    storage_class, volume = found["StorageClass/fsx-lustre"], found["PersistentVolume/fsx-lustre"]["spec"]
    # No claim can create a file system, or delete one when it is removed.
    assert storage_class["provisioner"] == "kubernetes.io/no-provisioner"
    assert (volume["storageClassName"], volume["persistentVolumeReclaimPolicy"]) == ("fsx-lustre", "Retain")
    assert (volume["capacity"], volume["accessModes"]) == ({"storage": "4800Gi"}, ["ReadWriteMany"])
    assert "flock" in volume["mountOptions"]
    assert volume["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": Reference.FSX_ID.text,
        "volumeAttributes": {"dnsname": Reference.FSX_DNS_NAME.text, "mountname": Reference.FSX_MOUNT_NAME.text},
    }


def test_a_claim_of_efs_gets_a_directory_of_its_own() -> None:
    found = storage_objects(efs={})
    assert set(found) == {"StorageClass/efs"}
    assert found["StorageClass/efs"]["provisioner"] == "efs.csi.aws.com"
    assert found["StorageClass/efs"]["parameters"] == {
        "provisioningMode": "efs-ap",
        "fileSystemId": Reference.EFS_ID.text,
        "directoryPerms": "700",
    }


def test_a_bucket_is_written_only_where_the_strategy_says_so() -> None:
    found = storage_objects(s3_buckets=ALL["s3_buckets"])
    assert set(found) == {"PersistentVolume/s3-data-in", "PersistentVolume/s3-data-out"}
    read, written = (found[f"PersistentVolume/{bucket_volume(name)}"]["spec"] for name in ("data-in", "data-out"))
    assert (read["accessModes"], written["accessModes"]) == (["ReadOnlyMany"], ["ReadWriteMany"])
    assert read["mountOptions"] == ["read-only", "region us-west-2"]
    assert written["mountOptions"] == ["allow-delete", "allow-overwrite", "region us-west-2"]
    # The driver supports no class: https://github.com/awslabs/mountpoint-s3-csi-driver (static provisioning)
    assert {read["storageClassName"], written["storageClassName"]} == {""}


def test_each_team_has_volumes_that_only_its_claim_binds() -> None:
    found = storage_objects(("one", "two"), **ALL)
    volumes = [item for item in found.values() if item["kind"] == "PersistentVolume"]
    kept = {
        (item["spec"]["claimRef"]["namespace"], item["spec"]["claimRef"]["name"])
        for item in volumes
        if "claimRef" in item["spec"]
    }
    assert kept == {(team, name) for team in ("one", "two") for name in ("fsx-lustre", "s3-data-in", "s3-data-out")}
    # A node mounts each handle once.
    assert len({item["spec"]["csi"]["volumeHandle"] for item in volumes}) == len(volumes) == 9


def test_no_name_or_handle_is_too_long_or_taken_twice() -> None:
    buckets = [{"name": name} for name in ("b" * 63, "abc", "abc.def", "abc-def")]
    found = storage_objects(("t" * 63, "def", "abc-def"), fsx_lustre={}, s3_buckets=buckets)
    ids = {Reference.FSX_ID: "fs-0123456789abcdef0"}
    handles = [
        replaced(item["spec"]["csi"]["volumeHandle"], lambda each: ids[each])
        for item in found.values()
        if item["kind"] == "PersistentVolume"
    ]
    assert len(set(handles)) == len(handles) == 20
    assert max(map(len, handles)) <= 128


def test_ebs_volumes_are_the_default_and_encrypted() -> None:
    found = storage_objects(addons=("aws-ebs-csi-driver",))
    assert set(found) == {"StorageClass/gp3"}
    storage_class = found["StorageClass/gp3"]
    assert storage_class["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert storage_class["parameters"]["encrypted"] == "true"
    # If it was bound before the pod has a node, it could be in any zone.
    assert storage_class["volumeBindingMode"] == "WaitForFirstConsumer"


def _blocks() -> list[Any]:
    text = (ROOT / "docs" / "guides" / "storage.md").read_text(encoding="utf-8")
    return [
        item
        for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for item in yaml.safe_load_all(block)
    ]


def test_the_claims_of_the_guide_bind() -> None:
    section, *manifests = _blocks()
    found = storage_objects(("research",), **section["storage"])
    assert check_objects(manifests, "1.35") == []
    claims = [item for item in manifests if item["kind"] == "PersistentVolumeClaim"]
    assert len(claims) == 3
    for claim in claims:
        spec, namespace, name = claim["spec"], claim["metadata"]["namespace"], claim["metadata"]["name"]
        wanted = f"PersistentVolume/{spec.get('volumeName', f'team.{namespace}.{name}')}"
        if spec["storageClassName"] == "efs":
            assert "StorageClass/efs" in found
            continue
        volume = found[wanted]["spec"]
        assert volume["claimRef"] == {"namespace": namespace, "name": name}
        assert (volume["storageClassName"], volume["accessModes"]) == (spec["storageClassName"], spec["accessModes"])
        assert volume["capacity"] == spec["resources"]["requests"]
