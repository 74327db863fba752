"""Search for secrets in text: AWS keys, tokens, private keys, passwords."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

PATTERNS = {
    "access key of AWS": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "secret key of AWS": re.compile(r"(?i)aws_?secret_?access_?key[\"'\s:=]+[A-Za-z0-9/+]{40}"),
    "session token of AWS": re.compile(r"(?i)aws_?session_?token[\"'\s:=]+\S{20}"),
    "token of EKS": re.compile(r"k8s-aws-v1\.[A-Za-z0-9_-]+"),
    "signed URL": re.compile(r"X-Amz-(?:Signature|Security-Token)="),
    "JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."),
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "token of a code host": re.compile(r"\b(?:ghp|gho|ghs|github_pat|glpat)[_-][A-Za-z0-9_]{20,}"),
    "password in an address": re.compile(r"://[^/\s:@\"']+:[^/\s@\"']+@"),
}

# Arguments in Terraform and in charts that contain a secret if they contain text.
ARGUMENT = re.compile(r"(?i)(?:passw(?:or)?d|(?:private|access|secret|api)_?key|(?:^|[_-])secret|(?:^|[_-])token)$")
_NO_SECRET = frozenset({"creation_token"})  # of EFS: prevents a repeated call from creating a second file system

_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


def secrets_in(value: Any, path: str = "") -> Iterator[str]:
    """Yield the position and kind of each secret in nested maps and lists, also in base64."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            place = f"{path}.{key}".lstrip(".")
            if isinstance(each, str) and each and ARGUMENT.search(key) and key not in _NO_SECRET:
                yield f"{place}: argument {key}"
            yield from secrets_in(each, place)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from secrets_in(each, f"{path}[{index}]")
    elif isinstance(value, str):
        for text in (value, *_decoded(value)):
            yield from (f"{path}: {what}" for what, pattern in PATTERNS.items() if pattern.search(text))


def _decoded(text: str) -> Iterator[str]:
    for match in _BASE64.findall(text):
        try:
            yield base64.b64decode(match, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
