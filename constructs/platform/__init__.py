"""A whole cluster."""

from eks_hardware.constructs.platform.platform import Platform

__all__ = ["Platform"]
