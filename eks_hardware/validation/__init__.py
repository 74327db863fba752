"""Validation of strategy files, and output of findings as text, JSON and SARIF.

The checks of overlays are imported on first use: most commands check each file once.
"""

from typing import TYPE_CHECKING

from eks_hardware._lazy_names import lazy_names as _lazy_names
from eks_hardware.validation.strategies import Fill, Validation, load_strategy, validate

if TYPE_CHECKING:
    from eks_hardware.validation.variants import Variant, Variants, validate_variants

__all__ = ["Fill", "Validation", "Variant", "Variants", "load_strategy", "validate", "validate_variants"]

# Otherwise type checkers accept every name.
if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(__name__, {"variants": "Variant Variants validate_variants"})
