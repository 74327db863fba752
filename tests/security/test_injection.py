"""Hostile text in a strategy is kept unchanged and has no effect, in Terraform, user data, values and files.

One strategy has hostile text in every text field, another harmless text in the same places. Both results are decoded
(JSON, YAML, TOML, MIME, base64) to plain text. With one text replaced by the other, both are equal.
"""

from __future__ import annotations

import base64
import binascii
import email
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.references import known
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from helpers.strategies import document, group, pool
from helpers.synthesized import synthesize

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

# Every quote, escape, comment, variable and template of Terraform, shells, YAML, JSON, TOML, MIME and Helm.
ONE_LINE = (
    """"'`\\ \\n \\x1b \\u0041 $(id) $IFS `id` $$ {a} %% %d #{b} &{c} @ {{ .Values.x }} {{/* */}} <<EOF <<-EOF """
    """;|&><! --eks-hardware ''' \"\"\" ]] }} */ // -- # : - ? * ~ null true 0x1 1e3 é 😀 ﷽"""
)
LINES = (
    "a\n--eks-hardware\nContent-Type: text/x-shellscript\n\n#!/bin/sh\ntouch /pwned\n--eks-hardware--\n"
    'EOF\n---\nkind: Secret\n...\n[settings.kernel]\nlockdown = "none"\n\'\'\'\n"""\n\tx: &a *a\n' + ONE_LINE
)
TAG = "// -:=@+_./ a é"
LABEL = "a_b.c-D"

PREFIXED = f"example.com/{LABEL}"

STATE_KEY = ONE_LINE.replace(" // ", " ")  # Terraform refuses an empty folder name

HARMLESS = {
    ONE_LINE: "Oneline",
    LINES: "Lines",
    TAG: "Tag",
    LABEL: "Label",
    PREFIXED: "example.com/Label",
    STATE_KEY: "Key",
}


def document_with_text(change: Callable[[str], str]) -> dict[str, Any]:
    """Return a strategy with text from ``change`` in all text fields."""
    text, lines, tag, label, prefixed, state_key = map(change, HARMLESS)
    settings = {text: lines, "list": [text, lines, {text: [lines]}]}
    kubelet, image = {"kubelet": {"config": settings}}, "ami-01234567"
    labels = {"labels": {label: label, prefixed: label}, "taints": [{"key": label, "value": label}]}
    return document(
        group("m7i.xlarge", "al", user_data=kubelet, tags={tag: tag}, **labels),
        group("m7i.xlarge", "al-own", user_data=kubelet, ami={"image_id": image}),
        group("m7i.xlarge", "br", user_data=settings, ami={"family": "bottlerocket"}),
        group("m7i.xlarge", "br-own", user_data=settings, ami={"family": "bottlerocket", "image_id": image}),
        description=text,
        tags={tag: tag},
        cluster={
            "creator_is_admin": True,
            "addons": {"coredns": {"configuration": {"corefile": lines, "podAnnotations": settings}}},
            "access_entries": [
                {
                    "name": "a",
                    "principal_arn": "arn:aws:iam::111122223333:role/=,.@-_+/a",
                    "kubernetes_groups": [text],
                    "policies": [{"policy": "AmazonEKSViewPolicy", "namespaces": [text]}],
                }
            ],
        },
        karpenter={
            "node_pools": [
                pool("al-pool", user_data=kubelet, tags={tag: tag}, **labels),
                pool("br-pool", user_data=settings, ami={"family": "bottlerocket"}),
            ]
        },
        kubernetes={
            "delivery": "helm",
            "kueue": True,
            "prometheus": True,
            "charts": {
                name: {"values": {place: settings}}
                for name, place in (
                    ("karpenter", "podAnnotations"),
                    ("kube-prometheus-stack", "commonLabels"),
                )
            },
            "teams": [{"name": "team"}],
        },
        backend={"type": "s3", "bucket": "state", "key": state_key, "profile": text},
        aws={
            "profile": text,
            "assume_role": {"role_arn": "arn:aws:iam::111122223333:role/a", "session_name": "a_+=,.@-b"},
            "iam_path": "/a+=,.@_-/",
        },
    )


# --- down to plain text

_BASE64 = re.compile(r"[A-Za-z0-9+/\n]{16,}={0,2}")
_BASE64_EXPRESSION = re.compile(r'base64decode\("([A-Za-z0-9+/=]+)"\)')


def plain(value: Any) -> Any:
    """Return a value with all encoded texts decoded."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != "//" or isinstance(each, str)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return _read(value) if isinstance(value, str) else value


def _read(text: str) -> Any:
    if inner := _BASE64_EXPRESSION.search(text):
        return [_BASE64_EXPRESSION.sub("...", text), _read(inner.group(1))]
    if _BASE64.fullmatch(text):
        try:
            return _read(base64.b64decode(text, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            return text
    if text.startswith("MIME-Version:"):
        message = email.message_from_string(text)
        assert message.is_multipart()
        parts = list(message.walk())[1:]
        return [[part.get_content_type(), _read(str(part.get_payload()).strip())] for part in parts]
    if text.startswith("[settings"):
        return plain(tomllib.loads(text))
    if text.startswith("{"):
        return plain(json.loads(text))
    return text


def swapped(value: Any) -> Any:
    """Return a value with the harmless text instead of the hostile one."""
    if isinstance(value, dict):
        return {swapped(key): swapped(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [swapped(each) for each in value]
    return HARMLESS.get(value, value) if isinstance(value, str) else value


def unescaped(text: str) -> str:
    """Return a text of Terraform JSON as Terraform reads it."""
    return text.replace("$${", "${").replace("%%{", "%{")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *texts(each))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


Both = tuple[ResolvedStrategy, ResolvedStrategy]


@pytest.fixture(scope="module")
def both() -> Both:
    """Return both results, resolved without the rules, because those can refuse some texts."""
    hostile, harmless = (Strategy.model_validate(document_with_text(change)) for change in (str, HARMLESS.__getitem__))
    return resolve(hostile), resolve(harmless)


def synthesized_document(resolved: ResolvedStrategy, folder: Path) -> dict[str, Any]:
    (stack,) = synthesize(folder, [resolved])
    return stack.document


def in_terraform(document: dict[str, Any]) -> Any:
    """Return a stack as Terraform reads it, as plain text."""
    for release in document["resource"]["helm_release"].values():
        release["values"] = [yaml.safe_load(unescaped(each)) for each in release["values"]]
    return plain(document)


def test_terraform_and_user_data(both: Both, tmp_path: Path) -> None:
    hostile, harmless = (
        in_terraform(synthesized_document(each, tmp_path / str(index))) for index, each in enumerate(both)
    )
    assert swapped(hostile) == harmless
    found = list(texts(hostile))
    assert found.count(ONE_LINE) > 30
    assert found.count(LINES) > 25
    assert found.count(TAG) > 10


def test_expressions_are_ours_alone(both: Both, tmp_path: Path) -> None:
    """Both contain the same Terraform expressions."""
    hostile, harmless = (
        sorted(
            expression
            for text in texts(synthesized_document(each, tmp_path / str(index)))
            for expression in re.findall(r"(?<!\$)\$\{[^}]*\}|(?<!%)%\{[^}]*\}", text)
            if "base64decode" not in expression
        )
        for index, each in enumerate(both)
    )
    assert hostile == harmless
    assert len(hostile) > 100


def written_files(resolved: ResolvedStrategy, out: Path) -> dict[str, Any]:
    paths = write(bundle(resolved), out, name=resolved.name, region=resolved.region, known=known(resolved))
    return {
        str(path.relative_to(out)): list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        if path.suffix == ".yaml"
        else path.read_text(encoding="utf-8")
        for path in paths
    }


def test_files_that_are_written(both: Both, tmp_path: Path) -> None:
    hostile, harmless = (plain(written_files(each, tmp_path / str(index))) for index, each in enumerate(both))
    assert swapped(hostile) == harmless
    assert list(texts(hostile)).count(ONE_LINE) > 10
