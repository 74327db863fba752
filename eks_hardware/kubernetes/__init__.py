"""Manifests and chart values of a strategy's cluster, as pure data, without access to the cluster."""

from eks_hardware.kubernetes.adoption import karpenter_bundle
from eks_hardware.kubernetes.bundle import bundle
from eks_hardware.kubernetes.model import Bundle, ChartRelease, Object, ObjectRelease, Release
from eks_hardware.kubernetes.references import Reference

__all__ = ["Bundle", "ChartRelease", "Object", "ObjectRelease", "Reference", "Release", "bundle", "karpenter_bundle"]
