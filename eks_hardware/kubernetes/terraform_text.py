"""A text as Terraform JSON holds it."""

from __future__ import annotations

from collections.abc import Callable

from eks_hardware.kubernetes.references import Reference, replaced_in_text


def terraform_text(text: str, expression: Callable[[Reference], str]) -> str:
    """``text`` with its own ``${`` and ``%{`` kept from Terraform, and an expression in the place of each reference.

    Source: https://developer.hashicorp.com/terraform/language/expressions/strings#escape-sequences
    """
    return replaced_in_text(text.replace("${", "$${").replace("%{", "%%{"), expression)
