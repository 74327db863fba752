"""Amazon EKS clusters for AI workloads on the right hardware, in CDK for Terraform.

The code lives in four top-level folders of the repository and is imported under this one name:
``eks_hardware.config``, ``eks_hardware.constructs``, ``eks_hardware.stacks`` and the sub-packages here.
An installed wheel maps the folders itself; in a checkout the lines below do (docs/adr/0001).
"""

from __future__ import annotations

from pathlib import Path

from eks_hardware._framework import install as _install_framework
from eks_hardware._lazy_providers import install as _install_lazy_providers

__version__ = "0.1.0"
__all__ = ["__version__"]

_checkout = Path(__file__).resolve().parent.parent
if (_checkout / "stacks" / "hardware_stack.py").is_file() and (_checkout / "cdktf.json").is_file():
    __path__.append(str(_checkout))

_install_lazy_providers()
_install_framework()
