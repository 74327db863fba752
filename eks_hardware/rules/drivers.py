"""Rules about the drivers that software takes, and those of the images and GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import ami_family
from eks_hardware.rules.karpenter import image_releases
from eks_hardware.rules.needs import called_all, lacks
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, warning
from eks_hardware.versions import older


@dataclass(frozen=True)
class _Fault:
    """A driver that is too old: the field that says so, the message, and which drivers would fit."""

    field: str
    message: str
    fits: Callable[[str], bool]


def _at_least(floor: str) -> Callable[[str], bool]:
    return lambda driver: not older(driver, floor)


def _driver_faults(node: Node, kinds: Sequence[InstanceType], driver: str, where: str) -> Iterator[_Fault]:
    needs = node.needs
    if kinds[0].hardware is Hardware.NVIDIA_GPU:
        for field, what, floor in (
            ("nvidia_driver", "the software", needs.nvidia_driver),
            ("cuda", f"CUDA {needs.cuda}", software.driver_for_cuda(needs.cuda) if needs.cuda else None),
        ):
            if floor and older(driver, floor):
                message = f"{what} takes driver {floor} or later, {where} has {driver}"
                yield _Fault(field, message, _at_least(floor))
    elif sdk := needs.neuron_sdk:
        at_boot = facts.software()["neuron_chips"]["driver_at_boot"]
        as_built = all(kind.accelerator and kind.accelerator.name not in at_boot for kind in kinds)
        if as_built and not software.sdk_fits_driver(sdk, driver):
            yield _Fault(
                "neuron_sdk",
                f"the runtime of Neuron {sdk} does not start on driver {driver}, which {where} has",
                lambda other: software.sdk_fits_driver(sdk, other),
            )


def _image_release(context: Context, node: Node) -> str | None:
    """The release that a group or pool pins, named as images are; None for the newest."""
    if isinstance(node, NodePoolSpec):
        chosen = {pool.name: release for pool, _, release in image_releases(context)}.get(node.name)
        return None if chosen == "latest" else chosen
    given = node.ami.release_version or ""
    # 1.35.6-20260714, and on Bottlerocket 1.61.0-86a3fbfd.
    found = re.search(r"-(\d{8})$", given) if ami_family(node) == "al2023" else re.match(r"(\d+\.\d+\.\d+)", given)
    return f"v{found[1]}" if found else None


def _images(context: Context) -> Iterator[tuple[Node, software.ImageDriver, _Fault]]:
    kubernetes_version = context.strategy.cluster.kubernetes_version
    for node in context.nodes:
        needs = node.needs
        if not (needs.cuda or needs.neuron_sdk or needs.nvidia_driver):
            continue
        kinds = context.types(node)
        # Mixed groups have a rule of their own, and the contents of a user's own image are not known.
        if not kinds or node.ami.image_id or len({kind.hardware for kind in kinds}) > 1:
            continue
        hardware = kinds[0].hardware
        if hardware is not Hardware.NVIDIA_GPU and not hardware.is_neuron:
            continue
        family = ami_family(node)
        image = software.image_driver(hardware, family, _image_release(context, node), kubernetes_version)
        if image:
            where = f"the {family} image {image.release}"
            for fault in _driver_faults(node, kinds, image.driver, where):
                yield node, image, fault


def _pin(context: Context, node: Node, fault: _Fault) -> str:
    """The newest release that fits, as the group or pool writes it."""
    family, kubernetes_version = ami_family(node), context.strategy.cluster.kubernetes_version
    hardware = context.types(node)[0].hardware
    field = "ami.version" if isinstance(node, NodePoolSpec) else "ami.release_version"
    for release, release_version in software.known_releases(family, kubernetes_version):
        image = software.image_driver(hardware, family, release, kubernetes_version)
        if image and fault.fits(image.driver):
            return f"pin {field}: {release if isinstance(node, NodePoolSpec) else release_version}"
    newest = software.image_driver(hardware, family, None, kubernetes_version)
    if newest and fault.fits(newest.driver):
        return f"pin a release such as {newest.release}, with driver {newest.driver}"
    return "no release that was read does; use an image of your own, or another version of the software"


@error("NEEDS_DRIVER")
def _driver(context: Context) -> Iterator[Breach]:
    for node, image, fault in _images(context):
        if image.read:
            yield node_path(node, f"needs.{fault.field}"), f"{fault.message}; {_pin(context, node, fault)}"


@warning("NEEDS_DRIVER_UNREAD")
def _driver_unread(context: Context) -> Iterator[Breach]:
    for node, image, fault in _images(context):
        if not image.read:
            yield (
                node_path(node, f"needs.{fault.field}"),
                f"{fault.message}; the release in use is newer or not pinned, and its driver not known here: "
                f"{_pin(context, node, fault)}",
            )


def _has_driver(kind: InstanceType, driver: str, _node: Node) -> bool | None:
    support = software.cuda_support(kind)
    return not (support.last_driver and older(support.last_driver, driver)) if support else None


@error("NEEDS_DRIVER_GPU")
def _driver_gpu(context: Context) -> Iterator[Breach]:
    for lack in lacks(context, "nvidia_driver", _has_driver, hardware=()):
        support = software.cuda_support(lack.bad[0])
        yield (
            lack.path,
            f"the last driver for {called_all(lack.bad)} is {support.last_driver if support else None}{lack.others}; "
            "use software for that driver, or other types",
        )
