"""Karpenter's AWS resources."""

from eks_hardware.constructs.karpenter.adopted import AdoptedKarpenter
from eks_hardware.constructs.karpenter.karpenter import Karpenter

__all__ = ["AdoptedKarpenter", "Karpenter"]
