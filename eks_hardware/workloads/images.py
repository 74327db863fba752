"""The container image of a manifest where the user names none: one that fits GPU, driver, SDK and architecture."""

from __future__ import annotations

from eks_hardware.config import facts, software
from eks_hardware.config.catalogue import Hardware
from eks_hardware.workloads.request import Kind, WorkloadError
from eks_hardware.workloads.target import Target


def nvidia_smi_image() -> str:
    """An image for ``nvidia-smi``, which comes from the node."""
    image: str = facts.workload_images("nvidia_smi")["image"]
    return image


def framework_image(target: Target, kind: Kind) -> str:
    """An image with PyTorch for the target's hardware.

    Raises:
        WorkloadError: WORKLOAD_IMAGE_UNKNOWN.
    """
    return _neuron(target, kind) if target.hardware.is_neuron else _pytorch(target)


def _pytorch(target: Target) -> str:
    rows = facts.workload_images("pytorch")["images"]
    gpu = target.hardware is Hardware.NVIDIA_GPU
    for row in rows:
        if row["architecture"] == target.node.architecture and (row["cuda"] is not None) == gpu:
            image: str = row["image"]
            if not gpu or _runs(target, row["cuda"]):
                return image
    raise _unknown(target, f"PyTorch for {target.node.architecture}{f' and driver {target.driver}' if gpu else ''}")


def _runs(target: Target, cuda: str) -> bool:
    """Whether every GPU and the driver know a CUDA version; what is not known does not speak against it."""
    floor, driver = software.driver_for_cuda(cuda), target.driver
    if floor and driver and software.older(driver, floor):
        return False
    supports = [software.cuda_support(kind) for kind in target.kinds]
    return all(support is None or support.knows(cuda) for support in supports)


def _neuron(target: Target, kind: Kind) -> str:
    chips = {each.accelerator.name for each in target.kinds if each.accelerator}
    first = facts.workload_images("neuron_first_generation")
    if chips <= set(first["chips"]):
        image: str = first["image"]
        return image
    fact = facts.workload_images("neuron")
    wanted, driver = target.template.needs.neuron_sdk, target.driver
    if not chips <= set(fact["chips"]):
        raise _unknown(target, f"Neuron on {', '.join(sorted(chips))}")
    for row in fact["images"]:
        sdk: str = row["sdk"]
        asked = sdk == wanted or sdk.startswith(f"{wanted}.")
        if asked if wanted else driver is None or software.sdk_fits_driver(sdk, driver):
            found: str = row["inference"] if kind == "deployment" else row["training"] or row["inference"]
            return found
    raise _unknown(target, f"Neuron {wanted or f'on driver {driver}'}")


def _unknown(target: Target, what: str) -> WorkloadError:
    return WorkloadError(
        "WORKLOAD_IMAGE_UNKNOWN",
        "--image",
        f"no source names an image of {what} for {target.called}; give yours: --image REGISTRY/NAME:TAG",
    )
