"""``ignore``: warnings that a team has read and decided about."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from eks_hardware.models.base import StrategyModel, Text
from eks_hardware.models.text_patterns import form


class Ignore(StrategyModel):
    """A warning that is not shown, and why. Errors cannot be ignored.

    Examples:
        >>> Ignore(code="ENDPOINT_OPEN", path="cluster.endpoint", reason="IAM decides who gets in").code
        'ENDPOINT_OPEN'
    """

    code: Annotated[str, form(r"^[A-Z][A-Z0-9_]*$", "a code such as ENDPOINT_OPEN", max_length=64)] = Field(
        description="Code of the warning, such as ENDPOINT_OPEN."
    )
    path: Annotated[Text, StringConstraints(min_length=1, max_length=512)] = Field(
        description="The field that the warning is about, as validate prints it, or what it lies in: "
        "node_groups[gpu] stands for everything in that group."
    )
    reason: Annotated[Text, form(r"\S.{6,}\S", "a reason of a few words", max_length=512)] = Field(
        description="Why it is all right here, for whoever reads the file next."
    )
