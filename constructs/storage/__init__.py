"""Shared file systems."""

from eks_hardware.constructs.storage.elastic import ElasticFileSystem
from eks_hardware.constructs.storage.lustre import LustreFileSystem

__all__ = ["ElasticFileSystem", "LustreFileSystem"]
