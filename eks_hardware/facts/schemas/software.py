"""Software and the hardware that it runs on: ``facts/software.json`` and ``facts/workload_images.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text

Gate = TypedDict(
    "Gate",
    {
        "minimum": NotRequired[float],
        "only": NotRequired[list[float]],
        "except": NotRequired[list[float]],
        "unknown": NotRequired[list[float]],
    },
)
"""A set of CUDA compute capabilities."""


class Precision(Sourced):
    nvidia: dict[str, Gate]
    neuron: dict[str, dict[str, bool | None]]


class Attention(Sourced):
    kernels: dict[str, Gate]


class CudaArchitecture(TypedDict):
    capabilities: list[float]
    first: str
    last: int | None
    last_driver: str | None


class Cuda(Sourced):
    architectures: list[CudaArchitecture]
    family_last_driver: dict[str, str]
    driver_floor: dict[str, str]


class SdkRange(TypedDict):
    first: str | None
    last: str | None
    status: str | None
    status_from: str | None


Tuned = TypedDict("Tuned", {"for": list[str], "others": str})
"""The accelerators that a framework is optimized for, and how it runs on others."""


class Framework(TypedDict):
    hardware: list[str]
    neuron_name: str
    neuron: dict[str, dict[str, SdkRange | None]] | None
    gate: NotRequired[Gate]
    tuned: NotRequired[Tuned]
    source: Text


class Frameworks(Sourced):
    newest_sdk: str
    by_name: dict[str, Framework]


class NeuronChips(Sourced):
    training: dict[str, str]
    archived: dict[str, str]
    driver_at_boot: dict[str, str]


class DriverConflict(TypedDict):
    driver_from: str | None
    driver_to: str | None
    sdk_from: str | None
    sdk_to: str | None


class NeuronDriver(Sourced):
    conflicts: list[DriverConflict]


ImageDrivers = TypedDict(
    "ImageDrivers", {"from": str, "driver": NotRequired[str], "kubernetes": NotRequired[dict[str, str]]}
)


class ImagesOfFamily(TypedDict):
    read_to: str
    nvidia: list[ImageDrivers]
    neuron: list[ImageDrivers]


class Images(Sourced):
    by_family: dict[str, ImagesOfFamily]


class Collectives(Sourced):
    without_gpudirect_rdma: list[str]


class Software(About):
    precision: Precision
    attention: Attention
    cuda: Cuda
    frameworks: Frameworks
    neuron_chips: NeuronChips
    neuron_driver: NeuronDriver
    images: Images
    collectives: Collectives


class NvidiaSmi(Sourced):
    image: str


class PytorchImage(TypedDict):
    image: str
    architecture: str
    cuda: str | None
    efa: bool


class PytorchImages(Sourced):
    images: list[PytorchImage]


class NeuronImage(TypedDict):
    sdk: str
    training: str | None
    inference: str | None
    efa: list[str]


class NeuronImages(Sourced):
    chips: list[str]
    images: list[NeuronImage]


class NeuronFirstGeneration(Sourced):
    chips: list[str]
    efa: bool
    image: str


class NeuronAllocations(Sourced):
    sizes: dict[str, list[int]]


class EfaPod(Sourced):
    huge_pages_mib: int


class EfaEnvironment(Sourced):
    by_library: dict[str, dict[str, str]]


class TrainingOperator(Sourced):
    version: str
    install: str


class WorkloadImages(About):
    nvidia_smi: NvidiaSmi
    pytorch: PytorchImages
    neuron: NeuronImages
    neuron_first_generation: NeuronFirstGeneration
    neuron_allocations: NeuronAllocations
    efa_pod: EfaPod
    efa_environment: EfaEnvironment
    training_operator: TrainingOperator
