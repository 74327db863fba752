"""YAML for people to read and for Helm, kubectl and Terraform to parse.

These programs parse YAML 1.1 and parts of 1.2 (``on`` is true, ``1e3`` and ``0o7`` are numbers). Text is therefore
unquoted only if it cannot be parsed as anything else. Multi-line text becomes a block. Nothing is folded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

# Starts with a letter and contains no characters that are special in YAML: text, except for these words.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})

# Safe in a block. If the first line is indented or empty, the block would need an indentation indicator.
_BLOCK = re.compile(r"(?!\s)[ -~\t\u00a1-\u1fff\u2070-\ud7ff\n]+")

_NEVER_FOLDED = 1 << 20


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        # Repeat equal values, so that readers need not resolve anchors.
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        # PyYAML quotes blocks with tabs or trailing spaces; _style checks when a block is safe.
        analysis.allow_block = True
        # An empty key, which _style quotes, does not need its own line, either.
        analysis.empty = False
        return analysis


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


_Dumper.add_representer(str, _represent_text)


def _style(text: str) -> str | None:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return None
    return "|" if "\n" in text.strip("\n") and _BLOCK.fullmatch(text) else '"'


def yaml_text(value: object) -> str:
    """Return a YAML document of maps, lists, texts, numbers, booleans and None; maps keep their order."""
    return yaml.dump(
        _plain(value),
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=_NEVER_FOLDED,
    )


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # Write an enum with text values as the text alone.
    return str.__str__(value) if isinstance(value, str) else value
