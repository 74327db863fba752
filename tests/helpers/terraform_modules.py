"""One ``terraform validate`` for many synthesized stacks: each becomes a module of one configuration.

The provider's schema takes seconds to load and is loaded once. Parts that a module cannot have, or that the provider on
this machine cannot check, are converted to a form that Terraform checks anyway:

- A backend becomes the configuration of a ``terraform_remote_state``, which has the same arguments.
- Helm's provider and releases become ``terraform_data``. References and templates in them are checked, their own
  arguments are not (tests/synth/test_delivery.py checks those).
- The AWS provider of each module would be a separate process, so they share one. Configurations with more than a region
  and tags become a provider of the root.
- Arguments that need a newer AWS provider are left out if the provider is older.

A stack that has not changed is not checked again (helpers/answers.py).
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
"""Terraform's errors for each stack that it refuses."""


def stack_documents(outdir: Path) -> dict[str, dict[str, Any]]:
    """Return every synthesized stack of an output folder, by name."""
    files = sorted(outdir.glob("stacks/*/cdk.tf.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


def validate(documents: Mapping[str, Mapping[str, Any]], folder: Path) -> Faults:
    """Run the real ``terraform validate`` on synthesized stacks.

    Args:
        documents: the content of each stack's ``cdk.tf.json``, by name.
        folder: an empty working folder.

    Returns:
        Errors by stack; empty if all are valid.
    """
    program, providers = terraform.find_terraform(), terraform.prepare(ROOT)
    versions = [program.version, providers.where, Path(__file__).read_bytes()]
    answers = {
        name: Answer("terraform", [*versions, json.dumps(document, sort_keys=True)])
        for name, document in documents.items()
    }
    faults: Faults = {name: kept for name, answer in answers.items() if (kept := answer.kept()) is not None}
    if new := {name: document for name, document in documents.items() if name not in faults}:
        run = _Terraform(folder, program, providers)
        found = _validate(new, run)
        # An error can prevent Terraform from checking other stacks, or be caused by this machine.
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
                # Terraform does not check unused providers.
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
    def __init__(self, folder: Path, program: terraform.Terraform, providers: terraform.Providers) -> None:
        self.folder = folder
        self.failed = False
        self._program = str(program.path)
        self._environment = {**os.environ, **providers.environment, "CHECKPOINT_DISABLE": "1"}
        if providers.mirror is None or providers.mirror.packed:
            # As in tests/deploy/conftest.py: otherwise each folder unpacks several hundred megabytes.
            self._environment["TF_PLUGIN_CACHE_DIR"] = str(_build() / "cache")
            self._environment["TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"] = "1"
            (_build() / "cache").mkdir(exist_ok=True)

    def init(self) -> str:
        """Return the errors of the configuration, if any."""
        with (_build() / "cache.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self._run("init", "-backend=false", "-input=false", "-no-color")
        self.failed = done.returncode != 0
        return done.stderr.strip() if self.failed else ""

    def unknown_arguments(self) -> frozenset[str]:
        """Return arguments that a stack can have but this provider does not support."""
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
    # Dependencies on a release become dependencies on its replacement.
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
    """Remove empty blocks, which Terraform refuses."""
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
    """Return the stack of a file name; empty for other files."""
    found = re.search(r"\b(s\d+)(?:/cdk)?\.tf\.json", text)
    return labels[found[1]] if found else ""


def _said(diagnostic: Mapping[str, Any]) -> str:
    code = (diagnostic.get("snippet") or {}).get("code", "").strip()
    return f"{diagnostic['severity']}: {diagnostic['summary']}: {diagnostic.get('detail', '')} ({code})"


def _write(file: Path, document: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # One line per value, so that a diagnostic shows the affected value.
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
