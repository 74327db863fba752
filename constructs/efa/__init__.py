"""Elastic Fabric Adapter."""

from eks_hardware.constructs.efa.security_group import EfaSecurityGroup

__all__ = ["EfaSecurityGroup"]
