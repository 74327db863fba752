"""``needs``: the requirements of the software for the nodes of a group or pool."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eks_hardware.models.base import StrategyModel
from eks_hardware.models.text_patterns import pattern
from eks_hardware.spellings import Precision

Attention = Literal["flash-attention-2", "flash-attention-3", "flash-attention-4"]
Framework = Literal["pytorch", "pytorch-xla", "torch-neuron", "tensorflow", "mxnet", "jax", "vllm", "tgi"]

CudaVersion = Annotated[str, pattern(r"^[1-9][0-9]\.[0-9]{1,2}$", 'a CUDA version such as "13.0"')]
NvidiaDriver = Annotated[str, pattern(r"^[1-9][0-9]{2}(\.[0-9]{1,3}){0,2}$", 'a driver version such as "580"')]
NeuronSdk = Annotated[str, pattern(r"^[12]\.[0-9]{1,2}(\.[0-9]{1,2})?$", 'a Neuron SDK version such as "2.29"')]


class Needs(StrategyModel):
    """Requirements of the containers' software for hardware, driver and SDK; they are checked, and change nothing.

    Examples:
        >>> Needs(precision="bf16", distributed="multi-node").precision
        'bf16'
    """

    precision: Precision | None = Field(
        default=None,
        description="Most demanding number format in which the software computes; fp8 includes bf16.",
    )
    attention: Attention | None = Field(default=None, description="The attention kernel that the software uses.")
    framework: Framework | None = Field(
        default=None,
        description="Framework or server. On Neuron, 'pytorch' is native PyTorch (TorchNeuron), 'pytorch-xla' is "
        "torch-neuronx, and 'torch-neuron' is the package for inf1.",
    )
    cuda: CudaVersion | None = Field(
        default=None,
        description="CUDA version of the containers, in quotes: '12.8'. Leave it out if they include NVIDIA's "
        "forward-compatibility package.",
    )
    nvidia_driver: NvidiaDriver | None = Field(
        default=None, description="Minimum NVIDIA driver version, in quotes: '580' or '580.126.09'."
    )
    neuron_sdk: NeuronSdk | None = Field(
        default=None, description="Neuron SDK version of the containers, in quotes: '2.29'."
    )
    distributed: Literal["single-node", "multi-node"] | None = Field(
        default=None,
        description="Whether one job uses several accelerators of one node ('single-node') or of several nodes "
        "('multi-node'), through NCCL or Neuron's collectives.",
    )
