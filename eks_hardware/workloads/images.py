"""The default container image of a manifest: one that matches GPU, driver, SDK and architecture."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware
from eks_hardware.versions import older
from eks_hardware.workloads.request import Kind, WorkloadError
from eks_hardware.workloads.target import Target

Purpose: TypeAlias = Literal["training", "inference"]


def framework_image(target: Target, kind: Kind, *, efa: bool) -> str:
    """Return an image with PyTorch for the target's hardware. ``efa`` requires libfabric's provider and ``fi_info``.

    Raises:
        WorkloadError: WORKLOAD_IMAGE_UNKNOWN.
    """
    return _neuron(target, kind, efa=efa) if target.hardware.is_neuron else _pytorch(target, efa=efa)


def _pytorch(target: Target, *, efa: bool) -> str:
    gpu = target.hardware is Hardware.NVIDIA_GPU
    for row in facts.workload_images()["pytorch"]["images"]:
        fits_node = row["architecture"] == target.node.architecture and (row["efa"] or not efa)
        # CPU images have no EFA software. PyTorch with CUDA starts without a GPU.
        if fits_node and (_runs_on_gpus(target, row["cuda"]) if gpu else efa or row["cuda"] is None):
            return row["image"]
    driver = f" and driver {target.driver}" if gpu else ""
    raise _unknown(target, f"PyTorch for {target.node.architecture}{driver}{_with_efa(efa)}")


def _runs_on_gpus(target: Target, cuda: str | None) -> bool:
    """Return whether every GPU and the driver support a CUDA version, as far as known."""
    if cuda is None:
        return False
    floor, driver = software.driver_for_cuda(cuda), target.driver
    if floor and driver and older(driver, floor):
        return False
    supports = [software.cuda_support(kind) for kind in target.kinds]
    return all(support is None or support.knows(cuda) for support in supports)


def _neuron(target: Target, kind: Kind, *, efa: bool) -> str:
    chips = {chip.accelerator.name for chip in target.kinds if chip.accelerator}
    first = facts.workload_images()["neuron_first_generation"]
    if chips <= set(first["chips"]):
        if efa and not first["efa"]:
            raise _unknown(target, f"Neuron for {', '.join(sorted(chips))}{_with_efa(efa)}")
        return first["image"]
    if not chips <= set(facts.workload_images()["neuron"]["chips"]):
        raise _unknown(target, f"Neuron on {', '.join(sorted(chips))}")
    return _neuron_with_sdk(target, kind, efa=efa)


def _neuron_with_sdk(target: Target, kind: Kind, *, efa: bool) -> str:
    """Return the first image with the SDK that the node needs, or with one that fits its driver."""
    wanted, driver = target.template.needs.neuron_sdk, target.driver
    purposes: tuple[Purpose, ...] = ("inference", "training") if kind == "deployment" else ("training", "inference")
    for row in facts.workload_images()["neuron"]["images"]:
        if not _has_sdk(row["sdk"], wanted, driver):
            continue
        for purpose in purposes:
            image = row[purpose]
            if image and (purpose in row["efa"] or not efa):
                return image
    raise _unknown(target, f"Neuron {wanted or f'on driver {driver}'}{_with_efa(efa)}")


def _has_sdk(sdk: str, wanted: str | None, driver: str | None) -> bool:
    if wanted:
        return sdk == wanted or sdk.startswith(f"{wanted}.")
    return driver is None or software.sdk_fits_driver(sdk, driver)


def _with_efa(efa: bool) -> str:
    return " with EFA software" if efa else ""


def _unknown(target: Target, what: str) -> WorkloadError:
    return WorkloadError(
        "WORKLOAD_IMAGE_UNKNOWN",
        "--image",
        f"no known image has {what} for {target.called}; set --image REGISTRY/NAME:TAG",
    )
