"""Kinds of values in nested settings, as data files name them: ``int 0..100``, ``map of quantity``, ``one of a, b``.

Alternatives are joined with `` or ``. ``names of a, b`` is text of such names, separated by commas. A nested mapping
of names is a kind too. ``None`` and ``*`` allow anything. ``list of toleration`` is a list of mappings, whose kinds are
in the section ``objects`` of ``config/facts/value_kinds.json``.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from eks_hardware import facts
from eks_hardware.printable import joined, quoted
from eks_hardware.spellings import TAINT_EFFECTS
from eks_hardware.units import GO_DURATION

_ANY_NAME = "<name>"
_ANY_CASE = "one in any case of "  # names in capitals
_NAMES = "names of "  # text of one or more names, separated by commas
# https://github.com/bottlerocket-os/bottlerocket-settings-sdk (KubernetesDurationValue)
_PLAIN_DURATION = r"(?=.)(([0-9]+\.)?[0-9]+h)?(([0-9]+\.)?[0-9]+m)?(([0-9]+\.)?[0-9]+s)?(([0-9]+\.)?[0-9]+ms)?"
# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
_QUANTITY = r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?"
_PERCENT = r"[0-9]+(\.[0-9]*)?%"
# https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/apis/monitoring/v1/types.go (ByteSize)
_PROMETHEUS_DURATION = r"0|(?=.)([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?"
_PROMETHEUS_SIZE = r"0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B"
# https://github.com/bottlerocket-os/bottlerocket-settings-sdk (ValidLinuxHostname)
_HOST_NAME = r"(?=.{1,253}$)[0-9a-z][0-9a-z-]{0,62}(\.[0-9a-z][0-9a-z-]{0,62})*"
# https://github.com/bottlerocket-os/bottlerocket-settings-sdk (Url; OciImageRef)
_URL = r"\s*(((?i:https?)://|(?!(?i:https?)://))[^\s/?#]*[^\s/?#@]([/?#].*)?|(?!(?i:https?):)[A-Za-z][A-Za-z0-9+.-]*:.*)\s*"
_IMAGE_REFERENCE = r"[!-~]+"
# https://github.com/bottlerocket-os/bottlerocket-settings-sdk (PemCertificateString)
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_DER_SEQUENCE = b"\x30"  # the first byte of a certificate
# https://github.com/bottlerocket-os/bottlerocket-settings-sdk (KubernetesLabelValue)
_LABEL_VALUE = r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
_NODE_TAINT = rf"[A-Za-z0-9_.-]{{0,63}}:({'|'.join(TAINT_EFFECTS)})"
# https://github.com/aws/amazon-vpc-cni-k8s/blob/b52188387/cmd/aws-vpc-cni/main.go (validateEnvVars)
_INTERFACE_PREFIX = r"(?!(?:eth|vlan|lo)$)[A-Za-z0-9]{1,4}"
# https://pkg.go.dev/strconv#ParseBool
BOOLEANS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


_DIGITS = re.compile("[0-9]{1,9}")
_MOST_SHOWN = 60  # characters of a list in a message


class WrongValue(NamedTuple):
    """A value of the wrong kind: its path, what it must be, the value, and words to show instead of the value."""

    path: tuple[str, ...]
    expected: str
    value: object
    words: str = ""

    def __str__(self) -> str:
        return f"must be {self.expected}, got {self.words or _shown(self.value)}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return text if len(text) <= _MOST_SHOWN else "a list"
    return quoted(value) if isinstance(value, str) else "a mapping"


def is_whole(value: object) -> bool:
    """Return whether a value is an integer in JSON or TOML, which excludes booleans."""
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: object, pattern: str | re.Pattern[str]) -> bool:
    # Most patterns are kept as text and compiled on first use: few strategies need them.
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _quantity(value: object) -> bool:
    return is_whole(value) or isinstance(value, float) or _text(value, _QUANTITY)


def _threshold(value: object) -> bool:
    return isinstance(value, str) and (
        (_text(value, _PERCENT) and float(value[:-1]) <= 100) or (_text(value, _QUANTITY) and value[0] != "-")
    )


def _bottlerocket_threshold(value: Any) -> bool:
    return _threshold(value) and not (value.endswith("%") and float(value[:-1]) >= 100)


def _port(value: object) -> bool:
    """Return whether a value can be a port; 0 means none, and text can be the name of a port."""
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    return isinstance(number, str) or (is_whole(number) and 0 <= cast("int", number) <= 65535)


def _pods_kept(value: object) -> bool:
    """Return whether a number or text fits a disruption budget.

    Text with template syntax is accepted, because its result is unknown.
    """
    if is_whole(value):
        return cast("int", value) >= 0
    return not _text(value, r"[^{}]*%") or (_text(value, "[0-9]{1,9}%") and int(str(value)[:-1]) <= 100)


def _base64(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def _certificates(value: Any) -> bool:
    """Return whether text is empty, or certificates in PEM that are encoded in base64."""
    if isinstance(value, str) and not value.strip():
        return True
    blocks = _PEM.findall(base64.b64decode(value)) if _base64(value) else ()
    return bool(blocks) and all(_is_certificate(label, body) for label, body in blocks)


def _is_certificate(label: bytes, body: bytes) -> bool:
    try:
        encoded = base64.b64decode(b"".join(body.split()), validate=True)
    except ValueError:
        return False
    return b"CERTIFICATE" in label and encoded[:1] == _DER_SEQUENCE


def _is_json_map(value: object) -> bool:
    try:
        return isinstance(value, str) and isinstance(json.loads(value), dict)
    except ValueError:
        return False


def _are_networks(value: object) -> bool:
    try:
        return isinstance(value, str) and all(ipaddress.ip_network(each.strip()) for each in value.split(",") if each)
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_apiclient_command(value: object) -> bool:
    words = list(value) if isinstance(value, list | tuple) else []
    return words[:1] == ["apiclient"] and all(isinstance(word, str) for word in words)


def _is_host_entry(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    address, names = value
    return (
        isinstance(address, str)
        and _is_address(address)
        and isinstance(names, list | tuple)
        and all(_text(name, _HOST_NAME) for name in names)
    )


# The plural words for each kind in messages.
_PLURALS = {
    "url": "URLs whose hosts have no spaces",
    "list of url": "lists of URLs whose hosts have no spaces",
    "apiclient command": 'commands such as ["apiclient", "set", "motd=hello"], whose first word is apiclient',
    "host entry": 'entries such as ["10.0.0.10", ["registry.internal"]]: an IP address and a list of host names',
    "map": "mappings",
    "int": "whole numbers",
    "ip": "IP addresses",
    "list of text": "lists of text",
}


# The test of each kind, and its words in messages.
_KINDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (is_whole, "a whole number"),
    "number": (lambda value: is_whole(value) or isinstance(value, float), "a number"),
    "list": (lambda value: isinstance(value, list | tuple), "a list"),
    "map": (lambda value: isinstance(value, Mapping), "a mapping"),
    "null": (lambda value: value is None, "null"),
    "digits": (lambda value: isinstance(value, str) and value.isascii() and value.isdigit(), "digits in quotes"),
    "duration": (lambda value: _text(value, GO_DURATION), "a duration such as 30s or 1h30m"),
    "plain duration": (lambda value: _text(value, _PLAIN_DURATION), "a duration such as 30s or 1h30m"),
    "quantity": (_quantity, "an amount such as 500m, 16 or 64Gi"),
    "quantity text": (lambda value: _text(value, _QUANTITY), 'an amount in quotes such as "500m" or "64Gi"'),
    "threshold": (_threshold, 'an amount or a percentage in quotes, such as "500Mi" or "10%"'),
    "base64": (_base64, "text in base64, without line breaks"),
    "certificates": (_certificates, "certificates in PEM, encoded in base64 without line breaks"),
    "threshold text": (
        _bottlerocket_threshold,
        'an amount or a percentage below 100% in quotes, such as "500Mi" or "10%"',
    ),
    "bool text": (lambda value: isinstance(value, str) and value in BOOLEANS, '"true" or "false", in quotes'),
    "int text": (lambda value: _text(value, "-?[0-9]{1,9}"), 'a whole number in quotes, such as "5"'),
    "json map text": (_is_json_map, """a mapping in JSON, in quotes, such as '{"team": "ml"}'"""),
    "cidrs text": (_are_networks, "networks separated by commas, such as 10.1.0.0/16,10.2.0.0/16"),
    "interface prefix": (
        lambda value: _text(value, _INTERFACE_PREFIX),
        "at most 4 letters or digits, and not eth, vlan or lo",
    ),
    "ip": (lambda value: isinstance(value, str) and _is_address(value), "an IP address such as 10.100.0.10"),
    "fraction": (
        lambda value: (is_whole(value) or isinstance(value, float)) and 0 <= float(cast("float", value)) < 1,
        "a fraction of at least 0 and less than 1, such as 0.075",
    ),
    "prometheus duration": (
        lambda value: _text(value, _PROMETHEUS_DURATION),
        "a Prometheus duration such as 30s, 12h or 15d",
    ),
    "prometheus size": (
        lambda value: _text(value, _PROMETHEUS_SIZE),
        "a size that ends in B, such as 45GB or 45GiB",
    ),
    "host name": (
        lambda value: _text(value, _HOST_NAME),
        "a host name of lower-case letters, digits, dots and hyphens",
    ),
    "label value": (
        lambda value: _text(value, _LABEL_VALUE),
        "text of at most 63 letters, digits, dots, hyphens and underscores, with a letter or digit at both ends",
    ),
    "node taint": (
        lambda value: all(_text(each, _NODE_TAINT) for each in (value if isinstance(value, list | tuple) else [value])),
        f"VALUE:EFFECT with the effect {joined(TAINT_EFFECTS, 'or')}, or a list of them",
    ),
    "url": (lambda value: _text(value, _URL), "a URL whose host has no spaces, such as https://proxy.example.com:3128"),
    "image reference": (
        lambda value: _text(value, _IMAGE_REFERENCE),
        "an image reference without spaces, such as public.ecr.aws/example/tool:v1",
    ),
    "apiclient command": (_is_apiclient_command, "a command in a list that begins with apiclient"),
    "host entry": (_is_host_entry, "an IP address and a list of host names"),
    "port": (_port, "a port from 1 to 65535"),
    "pods kept": (_pods_kept, 'a number of pods or a percentage of at most 100%, such as "50%"'),
    # https://github.com/bottlerocket-os/bottlerocket-settings-sdk (KubernetesCloudProvider)
    "cloud provider": (lambda value: value in ("aws", "external", "", '""'), 'external, aws or ""'),
    # https://github.com/bottlerocket-os/bottlerocket-settings-sdk (HugepageAllocation)
    "huge pages": (
        lambda value: _text(value, r"[0-9]+|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*"),
        'a number of pages in quotes, or NODE:PAGES pairs such as "0:512,1:512"',
    ),
    "percent text": (lambda value: isinstance(value, str) and value.endswith("%"), 'a percentage such as "50%"'),
}


def wrong_values(
    values: Mapping[str, object], kinds: Mapping[str, object], above: tuple[str, ...] = ()
) -> Iterator[WrongValue]:
    """Yield every value that is not of its kind; names without a kind are left out."""
    others = kinds.get(_ANY_NAME)
    for name, value in values.items():
        yield from _wrong(value, kinds.get(name, others), (*above, str(name)))


def _wrong(value: object, kind: object, path: tuple[str, ...]) -> Iterator[WrongValue]:
    if isinstance(kind, Mapping):
        if isinstance(value, Mapping):
            yield from wrong_values(value, kind, path)
        elif "*" not in kind:
            yield WrongValue(path, "a mapping", value)
    elif isinstance(kind, str) and kind != "*":
        yield from _of_kind(value, kind, path)


def _of_kind(value: object, kind: str, path: tuple[str, ...]) -> Iterator[WrongValue]:
    container, _, inner = kind.partition(" of ")
    if inner in facts.value_kinds()["objects"]["kinds"]:
        yield from _objects(value, container, inner, path)
    elif container == "map" and inner and isinstance(value, Mapping):
        for name, each in value.items():
            yield from _of_kind(each, inner, (*path, str(name)))
    elif container == "list" and inner and " or " not in kind and isinstance(value, list | tuple):
        for each in value:
            for wrong in _of_kind(each, inner, path):
                yield WrongValue(path, f"a list of {_PLURALS.get(inner, inner)}", wrong.value)
    else:
        parts = kind.split(" or ")
        found = [_fits(value, part) for part in parts]
        if not any(fits for fits, _ in found):
            yield from _inside(value, parts, path) or [
                WrongValue(path, " or ".join(words for _, words in found), value)
            ]


def _inside(value: object, parts: Sequence[str], path: tuple[str, ...]) -> list[WrongValue]:
    """Return what is wrong inside a list or map that one of several kinds can be."""
    for part in parts:
        container, _, inner = part.partition(" of ")
        if inner in facts.value_kinds()["objects"]["kinds"] and _KINDS[container][0](value):
            return list(_objects(value, container, inner, path))
    return []


def _objects(value: Any, container: str, inner: str, path: tuple[str, ...]) -> Iterator[WrongValue]:
    """Yield what is wrong with a list or map of a recorded kind of mappings."""
    objects = facts.value_kinds()["objects"]
    test, words = _KINDS[container]
    if not test(value):
        yield WrongValue(path, words, value)
        return
    for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _wrong(each, objects["kinds"][inner], (*path, str(key)))
        missing = [
            name
            for name in objects["required"].get(inner, ())
            if isinstance(each, Mapping) and each.get(name) in (None, "")
        ]
        if missing:
            yield WrongValue((*path, str(key)), f"a mapping with {missing[0]!r}", each, "one without it")


def _fits(value: Any, kind: str) -> tuple[bool, str]:
    """Return whether a value is of one alternative of a kind, and the words for it."""
    if kind.startswith("one of "):
        names = kind.removeprefix("one of ").split(", ")
        return isinstance(value, str) and value in names, f"one of {', '.join(names)}" if names[1:] else names[0]
    if kind.startswith(_ANY_CASE):
        names = kind.removeprefix(_ANY_CASE).split(", ")
        return isinstance(value, str) and value.upper() in names, f"one of {', '.join(names)}"
    if kind.startswith(_NAMES):
        names = kind.removeprefix(_NAMES).split(", ")
        return isinstance(value, str) and set(value.split(",")) <= set(names), f"one or more of {', '.join(names)}"
    name, _, limits = kind.rpartition(" ") if kind.startswith("int ") and ".." in kind else (kind, "", "")
    if limits:
        least, _, most = limits.partition("..")
        quotes = " in quotes" if name == "int text" else ""
        words = f"a whole number{quotes} " + (f"from {least} to {most}" if most else f"of at least {least}")
        fits = _KINDS[name][0](value)
        return fits and int(least) <= int(value) and (not most or int(value) <= int(most)), words
    container, _, inner = name.partition(" of ")
    test, words = _KINDS[container]
    if not inner:
        return test(value), words
    if inner in facts.value_kinds()["objects"]["kinds"]:
        return not list(_objects(value, container, inner, ())), f"{words} of mappings"
    items = value.values() if isinstance(value, Mapping) else value
    fits = test(value) and all(_fits(item, inner)[0] for item in items)
    return fits, f"{words} of {_PLURALS.get(inner, inner)}"


def names_only(kinds: Mapping[str, object]) -> dict[str, object]:
    """Return the names below settings without the kinds of their values, in the form that ``unknown_below`` reads."""
    return {
        name: names_only(below)
        if isinstance(below, Mapping)
        else "*"
        if isinstance(below, str) and (below.startswith(("map", "*")) or " or map" in below)
        else None
        for name, below in kinds.items()
    }
