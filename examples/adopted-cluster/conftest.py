"""Fixtures of eks-hardware."""

pytest_plugins = ["eks_hardware.testing.fixtures"]
