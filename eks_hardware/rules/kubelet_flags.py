"""Rules about the kubelet's command-line flags in a NodeConfig: unknown and removed ones, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eks_hardware import facts
from eks_hardware.models.text_patterns import LABEL_KEY, LABEL_VALUE
from eks_hardware.printable import quoted
from eks_hardware.rules.kubelet import STOPS, is_recorded, newer
from eks_hardware.rules.registry import Breach, Context, error
from eks_hardware.rules.user_data import with_user_data
from eks_hardware.rules.user_data_overrides import kubelet_flags
from eks_hardware.rules.value_kinds import BOOLEANS, wrong_values
from eks_hardware.spellings import TAINT_EFFECTS
from eks_hardware.suggestions import close, question


@error("KUBELET_FLAG")
def _flags(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    known = facts.kubelet()["flags"]["by_flag"]
    for node in with_user_data(context, "al2023"):
        before = ""
        for path, name, value in kubelet_flags(node) if is_recorded(version) else ():
            words = name.split()
            flag = words[0].lstrip("-").replace("_", "-") if words and words[0].startswith("-") else ""
            row = known.get(flag)
            takes_next = before and "=" not in before
            before = f"{name}={value}" if value else name
            if not flag:
                if not takes_next:
                    yield path, f"a flag must begin with --, got {quoted(name)}, so {STOPS}; write --NAME=VALUE"
            elif row is None:
                similar = close(flag, known)
                hint = question([f"--{each}" for each in similar]) if similar else "remove it"
                yield path, f"the kubelet of Kubernetes {version} has no flag --{flag}, so {STOPS}; {hint}"
            elif newer(version, row.get("last", version)):
                yield path, f"the kubelet has --{flag} only up to Kubernetes {row.get('last')}, so {STOPS}; remove it"
            elif value:
                yield from (
                    (path, f"--{flag} {fault}, so {STOPS}") for fault in _value_faults(flag, row["kind"], value)
                )


# --- values


def _value_faults(flag: str, kind: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a flag's value, by the kind of its setting, or the flag's own recorded kind."""
    kind = _setting_kind(flag) or kind
    if kind == "list of taint":
        yield from _taints(text)
        return
    if kind.startswith("map of "):
        mark = "<" if flag in ("eviction-hard", "eviction-soft") else "="
        example = _EXAMPLES.get(flag, "name=value")
        pairs = [part.partition(mark) for part in text.split(",") if part]
        whole = flag in _VALUE_OPTIONAL or all(mid and (value or kind == "map of text") for _, mid, value in pairs)
        if not whole:
            yield f"must be a list of pairs such as {example}, got {quoted(text)}"
            return
        if flag == "node-labels":
            yield from _label_faults({name.strip(): value.strip() for name, _, value in pairs})
            return
        values: object = {name.strip(): _typed(kind.removeprefix("map of "), value) for name, _, value in pairs}
        signals = facts.kubelet()["eviction_signals"]["names"]
        for name, _, _ in pairs if flag.startswith("eviction-") else ():
            if name.strip() not in signals:
                similar = close(name.strip(), signals)
                hint = question(similar) if similar else f"use one of {', '.join(signals)}"
                yield f"sets the signal {quoted(name.strip())}, which the kubelet does not know ({hint})"
    elif kind.startswith("list of "):
        values = [_typed(kind.removeprefix("list of "), part.strip()) for part in text.split(",")]
    else:
        values = _typed(kind, text)
    for wrong in wrong_values({flag: values}, {flag: kind}):
        what = f"has {wrong.path[-1]}, which " if len(wrong.path) > 1 else ""
        yield f"{what}must be {wrong.expected}, got {quoted(str(wrong.value))}"


_EXAMPLES = {
    "eviction-hard": "memory.available<500Mi",
    "eviction-soft": "memory.available<500Mi",
    "kube-reserved": "cpu=500m,memory=1Gi",
    "system-reserved": "cpu=500m,memory=1Gi",
    "feature-gates": "MemoryQoS=true",
    "node-labels": "team=research",
}
# Flags whose setting has another name, and those that are read in another way.
_ALIASES = {
    "image-gc-high-threshold": "imagegchighthresholdpercent",
    "image-gc-low-threshold": "imagegclowthresholdpercent",
}
# A label without = is empty: https://github.com/kubernetes/component-base/blob/v0.36.1/cli/flag/configuration_map.go.
# Other flags refuse it, and every flag skips empty parts: map_string_string.go in the same folder.
_VALUE_OPTIONAL = ("node-labels",)
_OTHERWISE = ("list of reserved memory",)


def _setting_kind(flag: str) -> str:
    """Return the kind of the KubeletConfiguration setting that corresponds to a flag; empty if there is none."""
    fields = facts.node_config()["kubelet_configuration"]["fields"]
    by_name = {name.lower(): kind for name, kind in fields.items() if isinstance(kind, str)}
    kind = by_name.get(_ALIASES.get(flag, flag.replace("-", "")), "")
    return "" if kind in _OTHERWISE else kind


def _typed(kind: str, text: str) -> object:
    """Convert a flag's text to the type of its setting; return the text if it cannot be converted."""
    if kind.startswith("int") and re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    if kind == "bool":
        return BOOLEANS.get(text, text)
    return text


def _label_faults(labels: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with labels or taints, by the checks of options.go (ValidateKubeletFlags) and ParseTaints.

    Source: https://github.com/kubernetes/kubernetes/blob/v1.36.1/cmd/kubelet/app/options/options.go,
    pkg/util/taints/taints.go
    """
    for key, value in labels.items():
        if not re.fullmatch(LABEL_KEY, key):
            yield f"must have keys such as example.com/team, got {quoted(key)}"
        if not re.fullmatch(LABEL_VALUE, value):
            yield (
                "must have values of at most 63 letters, digits, dots, hyphens and underscores, got "
                f"{quoted(value)} for {quoted(key)}"
            )


def _taints(text: str) -> Iterator[str]:
    for taint in text.split(","):
        pair, mark, effect = taint.rpartition(":")
        if not mark or effect not in TAINT_EFFECTS:
            yield (
                "must list taints such as dedicated=ml:NoSchedule, with one of the effects "
                f"{', '.join(TAINT_EFFECTS)}, got {quoted(taint)}"
            )
        else:
            key, _, value = pair.partition("=")
            yield from _label_faults({key: value})
