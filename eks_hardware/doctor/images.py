"""Check: the AMIs of the nodes exist for this Kubernetes version and region."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import InstanceType
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.kubernetes.nodes import Node
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedNodePool

NAME = "images"
CALLS: tuple[str, ...] = ("ec2:DescribeImages", "ssm:GetParameters")

# https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html (at most ten names)
_NAMES = 10
_NOT_THERE = ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable", "InvalidAMIID.Malformed")


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for each group and pool: for its custom AMI, or for its EKS AMI release."""
    for group in subject.resolved.node_groups:
        path = field_paths.node_group(group.name)
        if group.image_id:
            yield _of_image(subject, f"{path}.ami.image_id", group.image_id, group.architecture)
        elif parameter := _of_group(group):
            field = f"{path}.ami.release_version" if group.release_version else path
            yield _of_release(subject, field, group.release_version or "", {parameter})
    for pool in subject.resolved.node_pools:
        path = field_paths.node_pool(pool.name, "ami")
        if pool.image_id:
            yield _of_image(subject, f"{path}.image_id", pool.image_id, pool.architecture)
        elif pool.ami_version:
            kinds = map(subject.catalogue.get, pool.instance_types)
            parameters = {_of_type(subject, pool, kind) for kind in kinds}
            yield _of_release(subject, f"{path}.version", pool.ami_version, parameters)


def _of_image(subject: Subject, path: str, image_id: str, architecture: str) -> Probe:
    return Probe(path, f"AMI {image_id}", partial(_image, subject, path, image_id, architecture))


def _of_release(subject: Subject, path: str, release: str, parameters: set[str]) -> Probe:
    return Probe(
        path,
        f"EKS AMI{f' release {release}' if release else ''}",
        partial(_release, subject, path, release, parameters),
    )


def _of_group(group: ResolvedNodeGroup) -> str | None:
    """Return the SSM parameter of a node group's AMI; None for AMI types without a known parameter."""
    variant = facts.account()["image_parameters"]["variants"].get(group.ami_type)
    if variant is None:
        return None
    return _parameter(group, group.kubernetes_version, group.architecture, variant)


def _of_type(subject: Subject, pool: ResolvedNodePool, kind: InstanceType) -> str:
    """Return the SSM parameter that Karpenter reads for one of a pool's instance types."""
    accelerated = kind.accelerator is not None
    if pool.ami_family == "al2023":
        variant = "neuron" if kind.hardware.is_neuron else "nvidia" if accelerated else "standard"
    else:
        variant = "-nvidia" if accelerated and not kind.hardware.is_neuron else ""
    return _parameter(pool, subject.resolved.cluster.kubernetes_version, kind.architecture, variant)


def _parameter(node: Node, kubernetes: str, architecture: str, variant: str) -> str:
    known = facts.account()["image_parameters"]["by_family"][node.ami_family]
    values = {"kubernetes": kubernetes, "architecture": architecture, "variant": variant}
    release = known["newest"]
    if name := node.ami_release:
        # Bottlerocket's parameter names contain the version without the v.
        version = name if node.ami_family == "al2023" else name.removeprefix("v")
        release = known["release"].format(**values, version=version)
    return known["path"].format(**values, release=release)


def _release(subject: Subject, path: str, release: str, parameters: set[str], aws: Aws) -> Iterator[Diagnosis]:
    region = subject.resolved.region
    names = sorted(parameters)
    for start in range(0, len(names), _NAMES):
        answer = aws.call("ssm", "get_parameters", Names=names[start : start + _NAMES])
        for name in answer.get("InvalidParameters", ()):
            folder, _ = name.removesuffix("/image_id").rsplit("/", 1)
            kind = "/".join(folder.split("/")[4:])
            yield subject.error(
                "IMAGE_RELEASE_MISSING",
                path,
                f"{region} has no release {release} of the AMI {kind}; choose a release that the command lists"
                if release
                else f"{region} has no AMI {kind}; choose another Kubernetes version, AMI type or region",
                subject.command("ssm", "get-parameters-by-path", path=folder, recursive=(), query="Parameters[].Name"),
            )


def _image(subject: Subject, path: str, image_id: str, architecture: str, aws: Aws) -> Iterator[Diagnosis]:
    answer = aws.found(_NOT_THERE, "ec2", "describe_images", ImageIds=[image_id])
    image = next(iter(answer["Images"] if answer else ()), None)
    if image is None or image.get("State", "available") != "available":
        state = f" ({image['State']})" if image else ""
        yield subject.error(
            "IMAGE_MISSING",
            path,
            f"{subject.resolved.region} has no AMI {image_id} that this account can use{state}; copy the AMI to "
            "this region, or choose another",
            subject.command("ec2", "describe-images", owners="self", query="Images[].[ImageId,Name]"),
        )
    elif image.get("Architecture", architecture) != architecture:
        yield subject.error(
            "IMAGE_ARCHITECTURE",
            path,
            f"{image_id} is for {image['Architecture']}, but the instance types are {architecture}; choose another AMI",
            subject.command("ec2", "describe-images", image_ids=image_id),
        )
