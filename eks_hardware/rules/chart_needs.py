"""Rules about what chart values need on the cluster: storage classes and access modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eks_hardware import field_paths
from eks_hardware.printable import quoted
from eks_hardware.rules.addon_values import claims
from eks_hardware.rules.registry import Breach, Context, error, warning
from eks_hardware.spellings import EBS_CLASS, EFS_CLASS, LUSTRE_CLASS

# EKS creates gp2: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html (Kubernetes 1.30)
_CLASS_OF_EKS = "gp2"
_CLASS_OF_ADDON = "ebs-csi-default-sc"


def _classes(context: Context) -> list[str]:
    """Return the names of the cluster's storage classes; EKS's own comes first."""
    strategy = context.strategy
    driver = strategy.cluster.addons.get("aws-ebs-csi-driver")
    settings = context.addon_configuration("aws-ebs-csi-driver")
    own = settings.get("storageClasses")
    own_items = own if isinstance(own, list | tuple) else ()
    default = settings.get("defaultStorageClass")
    return [
        _CLASS_OF_EKS,
        *([EBS_CLASS] if driver and driver.enabled else []),
        *([EFS_CLASS] if strategy.storage.efs else []),
        *([LUSTRE_CLASS] if strategy.storage.fsx_lustre else []),
        *([_CLASS_OF_ADDON] if isinstance(default, Mapping) and default.get("enabled") is True else []),
        *(str(each["name"]) for each in own_items if isinstance(each, Mapping) and "name" in each),
    ]


def _claim_path(path: str, field: str) -> str:
    return field_paths.below(path, *(["spec"] if path.endswith("volumeClaimTemplate") else []), field)


@warning("VOLUME_CLASS")
def _class(context: Context) -> Iterator[Breach]:
    known = _classes(context)
    for path, claim in claims(context):
        name = claim.get("storageClassName")
        # VOLUME_NO_DRIVER reports gp3 without its driver.
        if isinstance(name, str) and name not in ("", EBS_CLASS, *known):
            yield (
                _claim_path(path, "storageClassName"),
                f"nothing in the strategy creates the storage class {quoted(name)}, so the pod stays Pending; use one "
                f"of {', '.join(known)}, or ignore this if you create the class yourself",
            )


@error("VOLUME_ACCESS_MODE")
def _access(context: Context) -> Iterator[Breach]:
    for path, claim in claims(context):
        modes, name = claim.get("accessModes"), claim.get("storageClassName")
        shared = isinstance(modes, list | tuple) and "ReadWriteMany" in modes and claim.get("volumeMode") != "Block"
        if shared and name in (None, _CLASS_OF_EKS, EBS_CLASS, _CLASS_OF_ADDON):
            yield (
                _claim_path(path, "accessModes"),
                "an EBS volume with a file system can be mounted by one node only, so the driver refuses ReadWriteMany "
                f"and the pod stays Pending; use ReadWriteOnce, or storage.efs and storageClassName: {EFS_CLASS}",
            )
