"""The default container image of a manifest: one that matches GPU, driver, SDK and architecture."""

from __future__ import annotations

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware
from eks_hardware.versions import older
from eks_hardware.workloads.request import Kind, WorkloadError
from eks_hardware.workloads.target import Target


def framework_image(target: Target, kind: Kind, *, efa: bool) -> str:
    """Return an image with PyTorch for the target's hardware. ``efa`` requires libfabric's provider and ``fi_info``.

    Raises:
        WorkloadError: WORKLOAD_IMAGE_UNKNOWN.
    """
    return _neuron(target, kind, efa=efa) if target.hardware.is_neuron else _pytorch(target, efa=efa)


def _pytorch(target: Target, *, efa: bool) -> str:
    gpu = target.hardware is Hardware.NVIDIA_GPU
    for row in facts.workload_images()["pytorch"]["images"]:
        if row["architecture"] != target.node.architecture or (efa and not row["efa"]):
            continue
        # CPU images have no EFA software. PyTorch with CUDA starts without a GPU.
        if _runs(target, row["cuda"]) if gpu else efa or row["cuda"] is None:
            return row["image"]
    raise _unknown(
        target,
        f"PyTorch for {target.node.architecture}{f' and driver {target.driver}' if gpu else ''}{_with_efa(efa)}",
    )


def _runs(target: Target, cuda: str | None) -> bool:
    """Return whether every GPU and the driver support a CUDA version, as far as known."""
    if cuda is None:
        return False
    floor, driver = software.driver_for_cuda(cuda), target.driver
    if floor and driver and older(driver, floor):
        return False
    supports = [software.cuda_support(kind) for kind in target.kinds]
    return all(support is None or support.knows(cuda) for support in supports)


def _neuron(target: Target, kind: Kind, *, efa: bool) -> str:
    chips = {each.accelerator.name for each in target.kinds if each.accelerator}
    first = facts.workload_images()["neuron_first_generation"]
    if chips <= set(first["chips"]):
        if efa and not first["efa"]:
            raise _unknown(target, f"Neuron for {', '.join(sorted(chips))}{_with_efa(efa)}")
        return first["image"]
    fact = facts.workload_images()["neuron"]
    wanted, driver = target.template.needs.neuron_sdk, target.driver
    if not chips <= set(fact["chips"]):
        raise _unknown(target, f"Neuron on {', '.join(sorted(chips))}")
    for row in fact["images"]:
        sdk = row["sdk"]
        asked = sdk == wanted or sdk.startswith(f"{wanted}.")
        if asked if wanted else driver is None or software.sdk_fits_driver(sdk, driver):
            images = {"training": row["training"], "inference": row["inference"]}
            for purpose in ("inference", "training") if kind == "deployment" else ("training", "inference"):
                image = images[purpose]
                if image and (not efa or purpose in row["efa"]):
                    return image
    raise _unknown(target, f"Neuron {wanted or f'on driver {driver}'}{_with_efa(efa)}")


def _with_efa(efa: bool) -> str:
    return " with EFA software" if efa else ""


def _unknown(target: Target, what: str) -> WorkloadError:
    return WorkloadError(
        "WORKLOAD_IMAGE_UNKNOWN",
        "--image",
        f"no known image has {what} for {target.called}; set --image REGISTRY/NAME:TAG",
    )
