"""One ``terraform validate`` for many synthesized stacks: each becomes a module of one configuration.

The provider's schema, which takes seconds to load, is loaded once. What a module cannot have, or the provider on this
machine cannot judge, is put in a form that Terraform judges all the same:

- a backend becomes the configuration of a ``terraform_remote_state``, which has the same arguments;
- Helm's provider and releases become ``terraform_data``: references and templates in them are checked, their own
  arguments are not (tests/synth/test_delivery.py holds those);
- the AWS provider of a module is a process of its own: they share one, and each configuration that says more than a
  region and tags is a provider of the root;
- arguments that need a newer AWS provider are left out where the provider is older.

A stack that has not changed since is not judged again (helpers/answers.py).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eks_hardware import facts
from eks_hardware.local import terraform
from helpers.answers import Answer
from helpers.paths import ROOT

_TIMEOUT_SECONDS = 600
_RANGE = ">= {}.{}.{}, < {}.{}.{}".format(*terraform.PROVIDER_FROM, *terraform.PROVIDER_BELOW)
_BODY = "input"
_META = ("depends_on", "lifecycle")

Faults = dict[str, list[str]]
"""What Terraform says about each stack that it does not take."""


def stack_documents(outdir: Path) -> dict[str, dict[str, Any]]:
    """Every synthesized stack of an output folder, by name."""
    files = sorted(outdir.glob("stacks/*/cdk.tf.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


def validate(documents: Mapping[str, Mapping[str, Any]], folder: Path) -> Faults:
    """Let the real Terraform validate synthesized stacks.

    Args:
        documents: the content of each stack's ``cdk.tf.json``, by name.
        folder: an empty folder to work in.

    Returns:
        Faults by stack; empty where all are valid.
    """
    program, providers = terraform.find_terraform(), terraform.prepare(ROOT)
    versions = [program.version, providers.where, Path(__file__).read_bytes()]
    answers = {
        name: Answer("terraform", [*versions, json.dumps(document, sort_keys=True)])
        for name, document in documents.items()
    }
    faults: Faults = {name: kept for name, answer in answers.items() if (kept := answer.kept()) is not None}
    if new := {name: document for name, document in documents.items() if name not in faults}:
        run = _Terraform(folder)
        found = _validate(new, run)
        # A fault may keep Terraform from the other stacks, or be one of this machine.
        sure = () if run.failed else found.keys() & new.keys() if found else new.keys()
        for name in sure:
            answers[name].keep(found.get(name, []))
        faults.update(found)
    return {name: said for name, said in faults.items() if said}


def _validate(documents: Mapping[str, Mapping[str, Any]], run: _Terraform) -> Faults:
    folder = run.folder
    labels = {f"s{index}": name for index, name in enumerate(documents)}
    modules = {label: _module(documents[name]) for label, name in labels.items()}
    root = {
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": _RANGE}}},
        "module": {label: {"source": f"./{label}"} for label in labels},
    }
    _write(folder / "main.tf.json", root)
    for label, module in modules.items():
        for index, provider in enumerate(module.pop("provider", {}).get("aws", ())):
            if set(provider) - {"region", "default_tags"}:
                alias = f"{label}-{index}"
                aliased = {**provider, "alias": alias}
                # Terraform looks at no provider that nothing uses.
                used = {"aws_region": {alias: {"provider": f"aws.{alias}"}}}
                _write(folder / f"{label}.tf.json", {"provider": {"aws": [aliased]}, "data": used})
        _write(folder / label / "cdk.tf.json", module)
    if problem := run.init():
        return {_stack_of(problem, labels): [problem]}
    unknown = run.unknown_arguments()
    for label, module in modules.items():
        _write(folder / label / "cdk.tf.json", _without(module, unknown))
    faults: Faults = {}
    for diagnostic in run.validate():
        faults.setdefault(_stack_of(diagnostic.get("range", {}).get("filename", ""), labels), []).append(
            _said(diagnostic)
        )
    return faults


class _Terraform:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failed = False
        self._program = str(terraform.find_terraform().path)
        providers = terraform.prepare(ROOT)
        self._environment = {**os.environ, **providers.environment, "CHECKPOINT_DISABLE": "1"}
        if providers.mirror is None or providers.mirror.packed:
            # As tests/deploy/conftest.py has it: several hundred megabytes to unpack for each folder otherwise.
            self._environment["TF_PLUGIN_CACHE_DIR"] = str(_build() / "cache")
            self._environment["TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"] = "1"
            (_build() / "cache").mkdir(exist_ok=True)

    def init(self) -> str:
        """Returns what is wrong with the configuration, if anything."""
        with (_build() / "cache.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self._run("init", "-backend=false", "-input=false", "-no-color")
        self.failed = done.returncode != 0
        return done.stderr.strip() if self.failed else ""

    def unknown_arguments(self) -> frozenset[str]:
        """Arguments that a stack may have and this provider does not know."""
        selected = json.loads(self._run("version", "-json").stdout)["provider_selections"][terraform.PROVIDER]
        since = facts.eks()["provider_versions"]["since"]
        return frozenset(name for name, fact in since.items() if _numbers(fact["version"]) > _numbers(selected))

    def validate(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._run("validate", "-json").stdout)["diagnostics"]
        return found

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_TIMEOUT_SECONDS,
        )


def _build() -> Path:
    folder = ROOT / ".build" / "terraform"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _module(document: Mapping[str, Any]) -> dict[str, Any]:
    # Where something else depends on a release, it depends on what stands for it.
    copy: dict[str, Any] = json.loads(re.sub(r"\bhelm_release\.", "terraform_data.", json.dumps(document)))
    block = copy.pop("terraform", {})
    data = copy.setdefault("data", {}).setdefault("terraform_remote_state", {})
    for kind, arguments in block.get("backend", {}).items():
        data["the-backend-of-this"] = {"backend": kind, "config": arguments}
    held = copy.setdefault("resource", {}).setdefault("terraform_data", {})
    for name, body in copy["resource"].pop("helm_release", {}).items():
        held[name] = _held(body)
    for index, body in enumerate(copy.get("provider", {}).pop("helm", [])):
        held[f"helm-provider-{index}"] = _held(body)
    return _without_empty(copy)


def _held(body: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: body[key] for key in _META if key in body}
    return {**meta, _BODY: {key: value for key, value in body.items() if key not in (*_META, "//")}}


def _without_empty(document: dict[str, Any]) -> dict[str, Any]:
    """Without blocks that hold nothing, which Terraform refuses."""
    sections = {
        section: {kind: named for kind, named in kinds.items() if named} if isinstance(kinds, dict) else kinds
        for section, kinds in document.items()
    }
    return {section: kinds for section, kinds in sections.items() if kinds}


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _stack_of(text: str, labels: Mapping[str, str]) -> str:
    """The stack whose file is named; empty where none is."""
    found = re.search(r"\b(s\d+)(?:/cdk)?\.tf\.json", text)
    return labels[found[1]] if found else ""


def _said(diagnostic: Mapping[str, Any]) -> str:
    code = (diagnostic.get("snippet") or {}).get("code", "").strip()
    return f"{diagnostic['severity']}: {diagnostic['summary']}: {diagnostic.get('detail', '')} ({code})"


def _write(file: Path, document: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # A line for each value, so that a diagnostic shows what it is about.
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
