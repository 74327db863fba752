"""The catalogue's data about an EC2 instance type: plain and frozen.

``None`` means unknown, unless an attribute gives it another meaning. It never means zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from eks_hardware.suggestions import question


class Hardware(str, Enum):
    """The kind of hardware that a workload is written for.

    Examples:
        >>> load().get("trn1.32xlarge").hardware
        <Hardware.TRAINIUM: 'trainium'>
    """

    NVIDIA_GPU = "nvidia-gpu"
    TRAINIUM = "trainium"
    INFERENTIA = "inferentia"
    CPU = "cpu"
    OTHER = "other"  # AMD GPU, Gaudi, Qualcomm, FPGA, media

    def __str__(self) -> str:
        return self.value

    @property
    def is_neuron(self) -> bool:
        """Whether it is programmed with AWS Neuron."""
        return self in (Hardware.TRAINIUM, Hardware.INFERENTIA)


@dataclass(frozen=True)
class NetworkCard:
    """A network card of an instance type.

    Attributes:
        index: network card index, from 0.
        max_interfaces: maximum network interfaces of the card.
        interface_types: interface types that the card supports: ``interface``, ``efa``, ``efa-only``.
        peak_gbps: peak bandwidth in Gbps according to the API. Do not add up the cards: some families list the total of
            the instance on every card.

    Examples:
        >>> len(load().get("p5.48xlarge").network_cards)
        32
    """

    index: int
    max_interfaces: int | None
    interface_types: tuple[str, ...]
    peak_gbps: float | None

    @property
    def supports_efa(self) -> bool:
        """Whether the card supports an EFA interface."""
        return "efa-only" in self.interface_types


@dataclass(frozen=True)
class EfaInterface:
    """A network interface of a node with EFA, as in a launch template or EC2NodeClass.

    Attributes:
        network_card_index: network card index, from 0.
        device_index: device index on that card, from 0.
        interface_type: ``interface`` (IP, no EFA), ``efa`` (IP and EFA) or ``efa-only`` (EFA, no IP address).

    Examples:
        >>> first, second, *_ = load().get("p5.48xlarge").efa_interfaces
        >>> first.interface_type, second.interface_type
        ('interface', 'efa-only')
    """

    network_card_index: int
    device_index: int
    interface_type: str

    @property
    def is_efa(self) -> bool:
        """Whether the interface counts against the type's maximum of EFA interfaces."""
        return self.interface_type != "interface"


@dataclass(frozen=True)
class Accelerator:
    """The accelerators of an instance type; all accelerators of a type are the same.

    Attributes:
        kind: ``gpu``, ``neuron``, ``gaudi``, ``inference``, ``fpga`` or ``media``.
        manufacturer: as in the EC2 API: ``NVIDIA``, ``AWS``, ``AMD``, ...
        name: as in the EC2 API: ``H100``, ``RTX PRO Server 6000``.
        label_name: value of Karpenter's ``instance-gpu-name`` or ``instance-accelerator-name`` label.
        count: devices of the instance; 1 if it has a fraction of one device.
        memory_gib_each: memory in GiB of one device, or of the fraction.
        memory_gib_total: memory in GiB of all devices of the instance.
        compute_capability: CUDA compute capability, NVIDIA only.
        bf16: whether the hardware computes bfloat16.
        fp8: whether the hardware computes 8-bit floating point.
        flash_attention_2: whether FlashAttention-2 runs on it (compute capability 8.0 or later).
        mig: whether the EKS guide lists the family for Multi-Instance GPU.
        neuron_cores: physical NeuronCores of the whole instance, Neuron only. On Trainium2 two of them form one logical
            core by default, so pods see half as many.
        fraction: share of one GPU that a fractional type has (0.125 to 0.5).

    Examples:
        >>> h100 = load().get("p5.48xlarge").accelerator
        >>> h100.count, h100.label_name
        (8, 'h100')
    """

    kind: str
    manufacturer: str
    name: str
    label_name: str
    count: int
    memory_gib_each: float | None
    memory_gib_total: float | None
    compute_capability: float | None
    bf16: bool | None
    fp8: bool | None
    flash_attention_2: bool | None
    mig: bool | None
    neuron_cores: int | None
    fraction: float | None


@dataclass(frozen=True)
class InstanceStore:
    """The local disks of an instance type; their data is lost when the instance stops.

    Attributes:
        total_gb: capacity of all disks in GB (10^9 bytes).
        disk_count: number of disks.
        disk_gb: capacity of one disk in GB.
        nvme: whether the disks are NVMe devices.

    Examples:
        >>> load().get("p5.48xlarge").instance_store.disk_count
        8
    """

    total_gb: int
    disk_count: int
    disk_gb: int
    nvme: bool


@dataclass(frozen=True)
class Price:
    """An On-Demand price: Linux, shared tenancy.

    Attributes:
        usd_per_hour: US dollars per instance hour.
        as_of: day or month of the price (ISO 8601).
        source: where the price was read.
        note: why the price may be inaccurate, for a price that was carried over or inferred.

    Examples:
        >>> price = load().price("g6.xlarge", "us-west-2")
        >>> price.usd_per_hour > 0, price.source != ""
        (True, True)
    """

    usd_per_hour: float
    as_of: str
    source: str
    note: str | None


@dataclass(frozen=True)
class InstanceType:
    """An EC2 instance type.

    Attributes:
        name: ``p5.48xlarge``.
        family: ``p5``.
        vcpus: default vCPUs.
        memory_gib: host memory in GiB.
        architecture: ``x86_64`` or ``arm64``, as in EKS and Kubernetes node labels.
        bare_metal: whether the instance has no hypervisor.
        hardware: the kind of hardware.
        accelerator: accelerators, if any.
        network_cards: network cards, by index.
        ipv4_per_interface: maximum IPv4 addresses of one network interface.
        max_interfaces: maximum network interfaces of all cards together.
        efa_interfaces: the interfaces of a node that uses EFA on every card; empty without EFA.
        max_efa_interfaces: maximum EFA interfaces of the type; 0 without EFA.
        instance_store: local disks, if any.
        usage_classes: purchase options: ``on-demand``, ``spot``, ``capacity-block``.
        placement_strategies: supported placement groups: ``cluster``, ``partition``, ``spread``.
        quota_code_on_demand: Service Quotas code (service ``ec2``) of running On-Demand vCPUs.
        quota_code_spot: the same for Spot; None if AWS documents no such quota.
        ami_types: EKS ``amiType`` values that work, preferred first; ``("CUSTOM",)`` if only your own AMI works, empty
            if no EKS AMI includes the driver.
        minimum_nvidia_driver: oldest NVIDIA driver branch that works, if this excludes an EKS AMI.
        burstable: whether the type uses CPU credits.
        nitro: whether the type is built on the Nitro System; prefix delegation needs it.
        current_generation: whether AWS lists the type as current generation.
        withdrawn: a sentence with dates if the type is no longer available.
        notes: facts that users should know, one sentence each.
        source: source of the row.

    Examples:
        >>> kind = load().get("g6.xlarge")
        >>> kind.vcpus, kind.memory_gib
        (4, 16.0)
    """

    name: str
    family: str
    vcpus: int
    memory_gib: float
    architecture: str
    bare_metal: bool
    hardware: Hardware
    accelerator: Accelerator | None
    network_cards: tuple[NetworkCard, ...]
    ipv4_per_interface: int | None
    max_interfaces: int | None
    efa_interfaces: tuple[EfaInterface, ...]
    max_efa_interfaces: int
    instance_store: InstanceStore | None
    usage_classes: tuple[str, ...]
    placement_strategies: tuple[str, ...]
    quota_code_on_demand: str | None
    quota_code_spot: str | None
    ami_types: tuple[str, ...]
    minimum_nvidia_driver: str | None
    burstable: bool
    nitro: bool
    current_generation: bool
    withdrawn: str | None
    notes: tuple[str, ...]
    source: str

    def __hash__(self) -> int:
        # A hash of all fields would take longer than what is cached by type.
        return hash(self.name)

    @property
    def supports_efa(self) -> bool:
        """Whether the type supports EFA."""
        return self.max_efa_interfaces > 0

    @property
    def supports_capacity_block(self) -> bool:
        """Whether EC2 sells Capacity Blocks for ML with this type."""
        return "capacity-block" in self.usage_classes

    @property
    def size(self) -> str:
        """The part after the dot: ``48xlarge``."""
        return self.name.partition(".")[2]


class UnknownInstanceTypeError(KeyError):
    """Raised when a name is not in the catalogue.

    Attributes:
        name: the requested name.
        suggestions: similar names, most similar first.
        unlisted: why a type that exists is not in the catalogue.

    Examples:
        >>> try:
        ...     load().get("p5.49xlarge")
        ... except UnknownInstanceTypeError as error:
        ...     print("p5.48xlarge" in str(error))
        True
    """

    def __init__(self, name: str, suggestions: tuple[str, ...], unlisted: str | None = None) -> None:
        self.name = name
        self.suggestions = () if unlisted else suggestions
        self.unlisted = unlisted
        super().__init__(name)

    def __str__(self) -> str:
        hint = f"; {self.unlisted or question(self.suggestions)}" if self.unlisted or self.suggestions else ""
        return f"{self.name!r} is not in the hardware catalogue{hint}"
