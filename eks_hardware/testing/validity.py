"""Run ``terraform validate`` on a synthesized stack."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from eks_hardware.local import terraform
from eks_hardware.local.terraform import TerraformError
from eks_hardware.testing.template import Body, Stack, Template

_TIMEOUT_SECONDS = 600
_SHOWN = 20
_META = ("count", "depends_on", "for_each", "lifecycle")
# Variables that determine which Terraform and which providers are used.
_VARIABLES = (
    "PATH",
    "TERRAFORM_BINARY_NAME",
    "TERRAFORM_CONFIG",
    "TF_CLI_CONFIG_FILE",
    "TF_PLUGIN_CACHE_DIR",
    terraform.MIRROR_VARIABLE,
)

_NOT_FOUND = re.compile(r"provider\s+([\w.-]+/[\w./-]*\w)")

# The address of a terraform_data that replaces a resource; see _held.
_HELD = re.compile(r"^terraform_data\.(data-)?([a-z]\w*)-")


def assert_valid(
    what: Template | Stack | Mapping[str, object] | Path | str, *, without_providers: Collection[str] = ()
) -> None:
    """Assert that the real ``terraform validate`` accepts a stack.

    Terraform installs each set of providers once per run, from its usual source, or from a mirror if the registry is
    unreachable. The mirror is ``TF_PLUGIN_MIRROR``, or a mirror in a folder that Terraform itself searches. No AWS
    requests are made, and no credentials are needed. If ``TF_PLUGIN_CACHE_DIR`` is set, each provider is downloaded
    only once, not in every run.

    Args:
        what: a template, a ``TerraformStack``, the content of ``cdk.tf.json``, or the path of that file or its folder.
        without_providers: local names of providers that are not installed, such as ``helm``. ``terraform_data``
            replaces their resources: references to them are checked, their own arguments are not.

    Raises:
        AssertionError: if Terraform reports errors; lists each resource with Terraform's message.
        TerraformError: if Terraform or a provider is missing; the message says what to do.
    """
    template, folder = _template(what)
    document = _held(template.document, without_providers)
    run = _initialized(document, folder)
    file = run.folder / "cdk.tf.json"
    # One line per value, so that Terraform can show the value it reports.
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    _link_assets(run.folder, folder)
    errors = run.validate()
    if errors:
        raise AssertionError("\n".join(["terraform validate found errors:", *_listed(errors, template)]))


class _Terraform:
    """A folder where Terraform has the providers and modules that some stacks need."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = environment
        self._program = str(terraform.find_terraform().path)

    def init(self) -> str:
        """Run ``terraform init``; return its error message, or an empty string."""
        with _one_at_a_time(self._environment.get("TF_PLUGIN_CACHE_DIR")):
            done = self._run("init", "-backend=false", "-input=false", "-no-color")
        return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()

    def validate(self) -> list[dict[str, object]]:
        """Return the errors of ``terraform validate``."""
        done = self._run("validate", "-json")
        try:
            diagnostics = json.loads(done.stdout)["diagnostics"]
        except (ValueError, KeyError) as error:
            raise TerraformError(f"terraform validate failed: {done.stderr or done.stdout}") from error
        return [diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"]

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


def _template(what: Template | Stack | Mapping[str, object] | Path | str) -> tuple[Template, Path | None]:
    """Return the template to check, and its folder."""
    if isinstance(what, Template):
        return what, None
    if isinstance(what, Mapping):
        return Template(what), None
    if isinstance(what, Path | str):
        file = Path(what)
        file = file / "cdk.tf.json" if file.is_dir() else file
        return Template.from_json(file), file.parent.absolute()
    return Template.of(what), None


@contextlib.contextmanager
def _one_at_a_time(cache_folder: str | None) -> Iterator[None]:
    """Lock the provider cache against other processes, because Terraform does not.

    Source: https://developer.hashicorp.com/terraform/cli/config/config-file#provider-plugin-cache
    """
    if not cache_folder or not Path(cache_folder).is_dir():
        yield
        return
    with (Path(cache_folder) / ".eks-hardware.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _workspace() -> Path:
    """Return a temporary folder that is deleted when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="eks-hardware-validate-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_ready: dict[str, _Terraform] = {}


def _initialized(document: Body, folder: Path | None) -> _Terraform:
    """Return Terraform with a stack's providers and modules, installed once for all stacks that need the same ones."""
    modules = document.get("module", {})
    needed = {
        "terraform": {"required_providers": document.get("terraform", {}).get("required_providers", {})},
        **({"module": modules} if modules else {}),
    }
    variables = tuple(os.environ.get(name) for name in _VARIABLES)
    text = json.dumps([needed, variables], sort_keys=True) + (str(folder) if modules else "")
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    if key not in _ready:
        place = _workspace() / key
        place.mkdir(exist_ok=True)
        (place / "cdk.tf.json").write_text(json.dumps(needed), encoding="utf-8")
        _link_assets(place, folder)
        run = _Terraform(place, _environment(variables))
        if problem := run.init():
            raise TerraformError(_not_installed(problem))
        _ready[key] = run
    return _ready[key]


@cache
def _environment(variables: tuple[str | None, ...]) -> Mapping[str, str]:  # noqa: ARG001
    """Return Terraform's environment, cached by these variables: checking whether the registry answers is slow."""
    mirror = terraform.prepare(_workspace())
    environment = {
        **os.environ,
        **mirror.environment,
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
        # The folder has no lock file yet; without this, Terraform would not use providers from its cache.
        "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "1",
    }
    if mirror.mirror:
        # The mirror may have more than the AWS provider. Terraform looks for these providers only in the mirror.
        providers = sorted(
            "/".join(each.relative_to(mirror.mirror.path).parts)
            for each in (mirror.mirror.path / mirror.mirror.host).glob("*/*")
        )
        file = _workspace() / "terraformrc"
        file.write_text(terraform.cli_config(mirror.mirror.path, providers), encoding="utf-8")
        environment["TF_CLI_CONFIG_FILE"] = str(file)
    return environment


def _not_installed(problem: str) -> str:
    absent = sorted(set(_NOT_FOUND.findall(problem)))
    if not absent:
        return f"terraform init failed:\n{problem}"
    without = [each.rpartition("/")[2] for each in absent]
    return (
        f"terraform init does not find {', '.join(absent)}: neither the registry nor a mirror on this machine has a "
        "version that the stack accepts. Without a version range, the stack accepts only the version of its binding. "
        f"Set {terraform.MIRROR_VARIABLE} to a mirror with this version, or check the other resources with "
        f"assert_valid(..., without_providers={without})\n{problem}"
    )


def _link_assets(place: Path, source: Path | None) -> None:
    """Link a stack's assets from the folder ``source`` into the folder ``place``, replacing an earlier link."""
    link = place / "assets"
    if link.is_symlink():
        link.unlink()
    if source and (source / "assets").is_dir():
        link.symlink_to(source / "assets", target_is_directory=True)


def _held(document: Body, names: Collection[str]) -> Body:
    """Return a copy of the document in which ``terraform_data`` replaces the resources of some providers."""
    if not names:
        return document
    copy: Body = json.loads(json.dumps(document))
    kinds = tuple(f"{name}_" for name in names)
    held: dict[str, object] = {}
    addresses: dict[str, str] = {}
    for section, prefix in (("resource", ""), ("data", "data.")):
        for type_ in [each for each in copy.get(section, {}) if each.startswith(kinds)]:
            for name, body in copy[section].pop(type_).items():
                stand_in = f"{prefix.replace('.', '-')}{type_}-{name}"
                held[stand_in] = _as_data(body)
                addresses[f"{prefix}{type_}.{name}"] = f"terraform_data.{stand_in}"
    for name in names:
        configurations = copy.get("provider", {}).pop(name, [])
        for index, body in enumerate(configurations if isinstance(configurations, list) else [configurations]):
            held[f"provider-{name}-{index}"] = _as_data(body)
        copy.get("terraform", {}).get("required_providers", {}).pop(name, None)
    if held:
        copy.setdefault("resource", {}).setdefault("terraform_data", {}).update(held)
    return _without_empty(json.loads(_renamed(json.dumps(copy), addresses)))


def _as_data(body: Mapping[str, object]) -> dict[str, object]:
    meta = {key: body[key] for key in _META if key in body}
    return {**meta, "input": {key: value for key, value in body.items() if key not in (*_META, "provider")}}


def _renamed(text: str, addresses: Mapping[str, str]) -> str:
    """Replace references to replaced resources and their attributes with references to the replacements."""
    for old, new in sorted(addresses.items(), reverse=True):
        pattern = rf"(?<![\w.-]){re.escape(old)}(?![\w-])(?P<index>\[[^\]]*\])?(?P<dot>\.)?"
        text = re.sub(pattern, partial(_reference, new), text)
    return text


def _reference(to: str, match: re.Match[str]) -> str:
    return f"{to}{match['index'] or ''}{'.output.' if match['dot'] else ''}"


def _without_empty(document: Body) -> Body:
    """Return a copy of the document without empty blocks, which Terraform refuses."""
    return {section: content for section, content in document.items() if content not in ({}, [])}


def _listed(diagnostics: Sequence[Mapping[str, Any]], template: Template) -> list[str]:
    paths = template.addresses()
    lines = []
    for diagnostic in diagnostics[:_SHOWN]:
        snippet = diagnostic.get("snippet") or {}
        address = _original((snippet.get("context") or "").removeprefix("resource."))
        where = template.named(address) if address in paths else address or "the stack"
        lines.append(f"  {where}: {' '.join((diagnostic.get('detail') or diagnostic['summary']).split())}")
        if code := (snippet.get("code") or "").strip():
            lines.append(f"    {code}")
    more = len(diagnostics) - _SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines


def _original(address: str) -> str:
    """Return the original address of a resource that ``terraform_data`` replaces; other addresses are unchanged."""
    match = _HELD.match(address)
    if match is None:
        return address
    name, _, inside = address[match.end() :].partition(".input")
    return f"{'data.' if match[1] else ''}{match[2]}.{name}{inside}"
