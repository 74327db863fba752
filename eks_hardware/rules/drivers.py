"""Rules about drivers: those that the software requires, and those that the images and GPUs support."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve.node import ami_family
from eks_hardware.rules.karpenter import image_releases
from eks_hardware.rules.needs import called_all, lacks
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, warning
from eks_hardware.versions import older


class _Fault(NamedTuple):
    """A driver that is too old: the field that requires a newer one, the message, and a test for other drivers."""

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
                message = f"{what} requires driver {floor} or later, but {where} has {driver}"
                yield _Fault(field, message, _at_least(floor))
    elif sdk := needs.neuron_sdk:
        at_boot = facts.software()["neuron_chips"]["driver_at_boot"]
        as_built = all(kind.accelerator and kind.accelerator.name not in at_boot for kind in kinds)
        if as_built and not software.sdk_fits_driver(sdk, driver):
            yield _Fault(
                "neuron_sdk",
                f"the runtime of Neuron {sdk} does not start with driver {driver} in {where}",
                lambda other: software.sdk_fits_driver(sdk, other),
            )


def _image_release(context: Context, node: Node) -> str | None:
    """Return the release that a group or pool pins, as an image name; None for the newest."""
    if isinstance(node, NodePoolSpec):
        chosen = {pool.name: release for pool, _, release in image_releases(context)}.get(node.name)
        return None if chosen == "latest" else chosen
    given = node.ami.release_version or ""
    # AL2023: 1.35.6-20260714. Bottlerocket: 1.61.0-86a3fbfd.
    match = re.search(r"-(\d{8})$", given) if ami_family(node) == "al2023" else re.match(r"(\d+\.\d+\.\d+)", given)
    return f"v{match[1]}" if match else None


def _images(context: Context) -> Iterator[tuple[Node, software.ImageDriver, _Fault]]:
    kubernetes_version = context.strategy.cluster.kubernetes_version
    for node in context.nodes:
        needs = node.needs
        if not (needs.cuda or needs.neuron_sdk or needs.nvidia_driver):
            continue
        kinds = context.types(node)
        # Another rule covers mixed groups, and the contents of custom images are unknown.
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
    """Return how to pin the newest release with a suitable driver, in the syntax of the group or pool."""
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
    return "no recorded release has such a driver; use your own image, or another version of the software"


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
                f"{fault.message}; the nodes use a newer or unpinned release, whose driver is not recorded: "
                f"{_pin(context, node, fault)}",
            )
    for node in context.nodes:
        kinds, sdk = context.types(node), node.needs.neuron_sdk
        if not sdk or node.ami.image_id or not kinds or not kinds[0].hardware.is_neuron:
            continue
        if not facts.software()["images"]["by_family"][ami_family(node)]["neuron"]:
            yield (
                node_path(node, "needs.neuron_sdk"),
                f"the Neuron driver in a Bottlerocket release is unknown, so Neuron {sdk} may not start "
                "with it; run `modinfo neuron` on a node, or use AL2023",
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
            f"the last driver for {called_all(lack.bad)} is {support.last_driver if support else None}, but the "
            f"software requires {lack.value} or later{lack.others}; use software for that driver, or other types",
        )
