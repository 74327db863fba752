"""Manifests and chart values: what a strategy puts on its cluster. Pure data; nothing here talks to anything."""

from eks_hardware.kubernetes.adoption import karpenter_bundle
from eks_hardware.kubernetes.bundle import bundle
from eks_hardware.kubernetes.model import Bundle, ChartRelease, Object, ObjectRelease, Release
from eks_hardware.kubernetes.references import Reference

__all__ = ["Bundle", "ChartRelease", "Object", "ObjectRelease", "Reference", "Release", "bundle", "karpenter_bundle"]
