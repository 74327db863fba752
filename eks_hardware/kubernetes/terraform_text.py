"""Text as Terraform JSON needs it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from eks_hardware.kubernetes.references import Reference, replaced_in_text, texts

# How CDKTF writes an attribute of a resource into a text, until it writes the stack.
_TOKEN = re.compile(r"\$\{TfToken\[[^]]*\]\}")


def terraform_text(text: str, expression: Callable[[Reference], str]) -> str:
    """``text`` with its own ``${`` and ``%{`` escaped for Terraform, and an expression for each reference.

    An attribute of a resource that a program has put into the text stays what it is.
    Source: https://developer.hashicorp.com/terraform/language/expressions/strings#escape-sequences
    """
    parts, start = [], 0
    for token in _TOKEN.finditer(text):
        parts += [_escaped(text[start : token.start()]), token[0]]
        start = token.end()
    return replaced_in_text("".join([*parts, _escaped(text[start:])]), expression)


def holds_token(value: Any) -> bool:
    """Whether a text in nested maps and lists has an attribute of a resource in it, which only Terraform knows."""
    return any(_TOKEN.search(text) for text in texts(value))


def _escaped(text: str) -> str:
    return text.replace("${", "$${").replace("%{", "%%{")
