"""Requirements of software for accelerators, drivers and SDKs, from the facts. ``None`` means unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.versions import older, parts

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.software import Gate


# --- accelerators


def passes(gate: Gate, capability: float | None) -> bool | None:
    """Return whether GPUs with a compute capability pass a gate; None if unknown."""
    if capability is None or capability in gate.get("unknown", ()):
        return None
    if "only" in gate:
        return capability in gate["only"]
    return capability >= gate.get("minimum", 0.0) and capability not in gate.get("except", ())


def shown(gate: Gate) -> str:
    """Describe a gate: ``compute capability 8.0 or later``."""
    if "only" in gate:
        *rest, last = map(str, gate["only"])
        return f"compute capability {', '.join(rest)} or {last}" if rest else f"compute capability {last}"
    left_out = "".join(f" except {each}" for each in gate.get("except", ()))
    return f"compute capability {gate.get('minimum')} or later{left_out}"


def chip_of(kind: InstanceType) -> str:
    """Return the name of an instance type's accelerator; empty for CPU types."""
    return kind.accelerator.name if kind.accelerator else ""


def capability(kind: InstanceType) -> float | None:
    """Return the CUDA compute capability of an instance type's GPUs; None without GPUs."""
    return kind.accelerator.compute_capability if kind.accelerator else None


def computes(kind: InstanceType, precision: str) -> bool | None:
    """Return whether an instance type's accelerators compute in a number format; None if unknown."""
    fact = facts.software()["precision"]
    if kind.accelerator is None:
        return None
    if kind.hardware is Hardware.NVIDIA_GPU:
        return passes(fact["nvidia"][precision], capability(kind))
    return fact["neuron"].get(kind.accelerator.name, {}).get(precision)


def attends(kind: InstanceType, kernel: str) -> bool | None:
    """Return whether an attention kernel runs on an instance type's GPUs; None if unknown."""
    return passes(facts.software()["attention"]["kernels"][kernel], capability(kind))


# --- CUDA and NVIDIA drivers


class CudaSupport(NamedTuple):
    """The first CUDA toolkit that supports a GPU, and the last major version and driver branch; None if not ended."""

    first: str
    last: int | None
    last_driver: str | None

    def knows(self, cuda: str) -> bool:
        """Return whether a CUDA toolkit version generates code for the GPU."""
        return not older(cuda, self.first) and (self.last is None or parts(cuda)[0] <= self.last)


def cuda_support(kind: InstanceType) -> CudaSupport | None:
    """Return the CUDA support of an instance type's GPUs; None if unknown."""
    fact = facts.software()["cuda"]
    for row in fact["architectures"]:
        if capability(kind) in row["capabilities"]:
            last_driver = fact["family_last_driver"].get(kind.family, row["last_driver"])
            return CudaSupport(row["first"], row["last"], last_driver)
    return None


def driver_for_cuda(cuda: str) -> str | None:
    """Return the oldest NVIDIA driver branch that supports a CUDA version; None if the facts do not include it yet."""
    return facts.software()["cuda"]["driver_floor"].get(str(parts(cuda)[0]))


# --- Neuron


class SdkRange(NamedTuple):
    """The Neuron SDKs that support a framework on a chip for one use.

    ``first`` is None if support began before the oldest SDK in the facts; ``last`` is None if it continues. ``status``
    is a restriction (``beta``) that applies from the SDK ``status_from`` on.
    """

    first: str | None
    last: str | None
    status: str | None
    status_from: str | None

    def has(self, sdk: str) -> bool:
        """Return whether an SDK is in the range."""
        return _within(sdk, self.first, self.last)


def uses(workload: str) -> tuple[str, ...]:
    """Return the uses of a framework that a workload may make: training, inference, or either."""
    return (workload,) if workload in ("training", "inference") else ("training", "inference")


def sdk_ranges(kind: InstanceType, framework: str, workload: str) -> tuple[SdkRange, ...] | None:
    """Return the SDKs that support a framework on a Neuron chip, by use; empty if none does, None if unknown."""
    chips = facts.software()["frameworks"]["by_name"][framework]["neuron"]
    if chips is None or kind.accelerator is None:
        return None
    rows = chips.get(kind.accelerator.name, {})
    return tuple(SdkRange(**row) for use in uses(workload) if (row := rows.get(use)))


def sdk_fits_driver(sdk: str, driver: str) -> bool:
    """Return whether an SDK's runtime starts on a Neuron driver; True unless a conflict is known."""
    return not any(
        _within(sdk, row["sdk_from"], row["sdk_to"]) and _within(driver, row["driver_from"], row["driver_to"])
        for row in facts.software()["neuron_driver"]["conflicts"]
    )


def _within(given: str, first: str | None, last: str | None) -> bool:
    return not (first and older(given, first)) and not (last and older(last, given))


# --- images


class ImageDriver(NamedTuple):
    """The driver in an EKS image, as a version or a branch, and the image release that contains it.

    ``read`` is False if the requested release is not in the facts. ``release`` is then the newest recorded release.
    """

    driver: str
    release: str
    read: bool


def image_driver(hardware: Hardware, family: str, release: str | None, kubernetes_version: str) -> ImageDriver | None:
    """Return the driver in an EKS image for NVIDIA GPUs, Trainium or Inferentia; None if unknown.

    ``release`` is a release such as ``v20260714`` or ``v1.61.0``, or None for the newest.
    """
    fact = facts.software()["images"]["by_family"][family]
    rows = fact["nvidia" if hardware is Hardware.NVIDIA_GPU else "neuron"]
    newest = fact["read_to"]
    read = release is not None and parts(release) <= parts(newest)
    wanted = release if release is not None and read else newest
    driver_of_image: ImageDriver | None = None
    for row in rows:
        if parts(row["from"]) > parts(wanted):
            break
        driver = row.get("driver") or row.get("kubernetes", {}).get(kubernetes_version)
        driver_of_image = ImageDriver(driver, wanted, read) if driver else None
    return driver_of_image


def known_releases(family: str, kubernetes_version: str) -> Iterator[tuple[str, str]]:
    """Yield the releases that can be pinned, newest first, each in the pools' format and in the node groups' format."""
    kubelets = facts.ami_releases()["al2023"]["kubelets"] if family == "al2023" else {}
    for day in sorted(kubelets, reverse=True):
        for kubelet in kubelets[day].split():
            if kubelet.startswith(f"{kubernetes_version}."):
                yield f"v{day}", f"{kubelet}-{day}"
