"""What the catalogue says about an EC2 instance type: plain, frozen data.

``None`` always means that no source was found, never "no" and never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from eks_hardware.suggestions import question


class Hardware(str, Enum):
    """The kind of hardware a workload is written for.

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
        max_interfaces: network interfaces the card takes.
        interface_types: what may be attached: ``interface``, ``efa``, ``efa-only``.
        peak_gbps: peak bandwidth in Gbps as the API gives it. Do not add the cards up: some families repeat
            the total of the instance on every card.

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
        """Whether an EFA interface can be attached to this card."""
        return "efa-only" in self.interface_types


@dataclass(frozen=True)
class EfaInterface:
    """One network interface of a node with EFA, as a launch template or EC2NodeClass writes it.

    Attributes:
        network_card_index: network card, from 0.
        device_index: device on that card, from 0.
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
    """The accelerators of an instance type; all of a type are alike.

    Attributes:
        kind: ``gpu``, ``neuron``, ``gaudi``, ``inference``, ``fpga`` or ``media``.
        manufacturer: as the EC2 API writes it: ``NVIDIA``, ``AWS``, ``AMD``, ...
        name: as the EC2 API writes it: ``H100``, ``RTX PRO Server 6000``.
        label_name: the value of Karpenter's ``instance-gpu-name`` or ``instance-accelerator-name`` label.
        count: devices in the instance; 1 where it gets a fraction of one device.
        memory_gib_each: memory in GiB of a device, or of the fraction.
        memory_gib_total: memory in GiB of all devices of the instance.
        compute_capability: CUDA compute capability, NVIDIA only.
        bf16: whether bfloat16 is computed in hardware.
        fp8: whether 8-bit floating point is computed in hardware.
        flash_attention_2: whether FlashAttention-2 runs on it (compute capability 8.0 or later).
        mig: whether the EKS guide lists the family for Multi-Instance GPU.
        neuron_cores: physical NeuronCores of the whole instance, Neuron only. Two of Trainium2's make one
            logical core by default, so pods see half as many.
        fraction: the share of one GPU that a fractional type gets (0.125 to 0.5).

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
    """The local disks of an instance type, gone when the instance stops.

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
    """An on-demand price: Linux, shared tenancy.

    Attributes:
        usd_per_hour: US dollars per instance hour.
        as_of: day, or month, that the figure is of (ISO 8601).
        source: where it was read.
        note: why it may be off, for a figure that was carried over or inferred.

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
        architecture: ``x86_64`` or ``arm64``, as EKS and Kubernetes node labels need them.
        bare_metal: whether it has no hypervisor.
        hardware: the kind of hardware.
        accelerator: its accelerators, if any.
        network_cards: network cards, by index.
        ipv4_per_interface: IPv4 addresses of one network interface.
        max_interfaces: network interfaces of all cards together.
        efa_interfaces: the interfaces of a node that uses EFA on every card; empty without EFA.
        max_efa_interfaces: EFA interfaces the type allows; 0 without EFA.
        instance_store: local disks, if any.
        usage_classes: how it is sold: ``on-demand``, ``spot``, ``capacity-block``.
        placement_strategies: placement groups it can join: ``cluster``, ``partition``, ``spread``.
        quota_code_on_demand: Service Quotas code (service ``ec2``) of running on-demand vCPUs.
        quota_code_spot: the same for spot; None where AWS documents no such quota.
        ami_types: EKS ``amiType`` values that work, preferred first; ``("CUSTOM",)`` where only your own AMI
            does, empty where no EKS AMI carries the driver.
        minimum_nvidia_driver: oldest NVIDIA driver branch, where that rules out an EKS AMI.
        burstable: whether it runs on CPU credits.
        current_generation: whether AWS counts it as current.
        withdrawn: a sentence with dates if it can no longer be had.
        notes: what a user should know, one sentence each.
        source: where the row comes from.

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
    current_generation: bool
    withdrawn: str | None
    notes: tuple[str, ...]
    source: str

    @property
    def supports_efa(self) -> bool:
        """Whether the type has EFA."""
        return self.max_efa_interfaces > 0

    @property
    def supports_capacity_block(self) -> bool:
        """Whether EC2 Capacity Blocks for ML are sold for it."""
        return "capacity-block" in self.usage_classes

    @property
    def size(self) -> str:
        """The part after the dot: ``48xlarge``."""
        return self.name.partition(".")[2]


class UnknownInstanceTypeError(KeyError):
    """Raised for a name that is not in the catalogue.

    Attributes:
        name: the name that was asked for.
        suggestions: names it may have been meant to be, nearest first.

    Examples:
        >>> try:
        ...     load().get("p5.49xlarge")
        ... except UnknownInstanceTypeError as error:
        ...     print("p5.48xlarge" in str(error))
        True
    """

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        self.name = name
        self.suggestions = suggestions
        super().__init__(name)

    def __str__(self) -> str:
        hint = f"; {question(self.suggestions)}" if self.suggestions else ""
        return f"{self.name!r} is not in the hardware catalogue{hint}"
