"""Karpenter's AWS side."""

from eks_hardware.constructs.karpenter.karpenter import Karpenter

__all__ = ["Karpenter"]
