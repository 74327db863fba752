"""Terraform, or OpenTofu, and its AWS provider on this machine.

If the Terraform registry is unreachable, a provider mirror on this machine is used through a generated CLI
configuration. If neither has the provider, the error is one line. A user's CLI configuration with provider installation
settings takes precedence and is left unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from eks_hardware import atomic_files
from eks_hardware.provider_mirror import BUILD, RECORD, link

MINIMUM_TERRAFORM = (1, 5, 0)
# The variable with which cdktf runs a program other than `terraform`.
PROGRAM_VARIABLE = "TERRAFORM_BINARY_NAME"
REGISTRY_HOST = "registry.terraform.io"
OPENTOFU_REGISTRY_HOST = "registry.opentofu.org"
PROVIDER = f"{REGISTRY_HOST}/hashicorp/aws"
# The version range in required_providers of the synthesized stacks.
PROVIDER_FROM = (5, 100, 0)
PROVIDER_BELOW = (7, 0, 0)
MIRROR_VARIABLE = "TF_PLUGIN_MIRROR"
REGISTRY_TIMEOUT_SECONDS = 2.5

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_PRINTED = re.compile(r"(?P<product>Terraform|OpenTofu) v(?P<version>[\d.]+)\S*\non (?P<platform>\w+)")
_PACKED = re.compile(r"terraform-provider-aws_(?P<version>\d+\.\d+\.\d+)_(?P<platform>\w+)\.zip")
_OWN_INSTALLATION = re.compile(r"^\s*\"?provider_installation\"?\s*[:{]", re.MULTILINE)

Version = tuple[int, int, int]


class TerraformError(Exception):
    """Raised when Terraform or its provider is missing. The text is one line with the fix.

    Examples:
        >>> issubclass(TerraformError, Exception)
        True
    """


class Terraform(NamedTuple):
    """The program to run: Terraform or OpenTofu. ``platform`` is its name for this machine, such as ``linux_amd64``."""

    path: Path
    version: Version
    platform: str
    is_opentofu: bool = False

    @property
    def registry_host(self) -> str:
        """The host of the program's default provider registry."""
        return OPENTOFU_REGISTRY_HOST if self.is_opentofu else REGISTRY_HOST

    @property
    def environment(self) -> Mapping[str, str]:
        """The variable that makes cdktf run the same program; empty for Terraform, cdktf's default."""
        return {PROGRAM_VARIABLE: str(self.path)} if self.is_opentofu else {}


class Mirror(NamedTuple):
    """A ``filesystem_mirror`` with the AWS provider: the folder that contains the registry's folder.

    ``version`` is the newest version that the stacks accept. Terraform unpacks a ``packed`` provider once per stack.
    ``host`` is the registry's name.
    """

    path: Path
    version: Version
    packed: bool
    host: str = REGISTRY_HOST


class Source(Enum):
    """Where Terraform gets the AWS provider."""

    USER_CONFIG = "the source in your Terraform CLI configuration"
    NAMED_MIRROR = f"the mirror in {MIRROR_VARIABLE}"
    REGISTRY = "the Terraform registry"
    MIRROR = "a mirror on this machine"


class Providers(NamedTuple):
    """How to run Terraform so that it finds the AWS provider. ``environment`` is added to Terraform's environment."""

    source: Source
    mirror: Mirror | None = None
    environment: Mapping[str, str] = MappingProxyType({})

    @property
    def where(self) -> str:
        """The source of the provider, for messages."""
        return self.source.value + (f" ({_dotted(self.mirror.version)})" if self.mirror else "")


def parse_version(text: str) -> Version | None:
    """Parse a version such as ``1.2.3``; return ``None`` for anything else, including pre-releases."""
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def find_terraform(environ: Mapping[str, str] | None = None) -> Terraform:
    """Find a recent enough Terraform, or OpenTofu if there is no Terraform; by default in this process's environment.

    Raises:
        TerraformError: The program is missing, does not run, or is too old.
    """
    environ = os.environ if environ is None else environ
    wanted = ".".join(map(str, MINIMUM_TERRAFORM[:2]))
    advice = "https://developer.hashicorp.com/terraform/install"
    named = environ.get(PROGRAM_VARIABLE)
    names = [named] if named else ["terraform", "tofu"]
    program = next(filter(None, (shutil.which(name, path=environ.get("PATH")) for name in names)), None)
    if program is None:
        raise TerraformError(
            f"{names[0]} is not on the PATH: install Terraform {wanted} or newer, or OpenTofu, {advice}"
        )
    try:
        run = subprocess.run(
            [program, "version"],
            capture_output=True,
            check=True,
            env={**environ, "CHECKPOINT_DISABLE": "1"},
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TerraformError(f"`{program} version` failed ({error}); see {advice}") from error
    printed = _PRINTED.search(run.stdout)  # OpenTofu prints warnings first
    version = parse_version(printed["version"]) if printed else None
    if printed is None or version is None:
        version_line = run.stdout.strip().partition("\n")[0]
        raise TerraformError(
            f"`{program} version` must print Terraform's or OpenTofu's version, got {version_line!r}; see {advice}"
        )
    if version < MINIMUM_TERRAFORM:
        raise TerraformError(
            f"{program} must be version {wanted} or newer, got {printed['version']}; install a newer version, {advice}"
        )
    return Terraform(Path(program), version, printed["platform"], printed["product"] == "OpenTofu")


def user_config(environ: Mapping[str, str], home: Path, *, opentofu: bool = False) -> Path | None:
    """Return the user's CLI configuration if it has provider installation settings.

    A file with other content, such as credentials, does not affect the provider. As in Terraform, the variable hides
    the files in the home folder, even if its file does not exist.
    """
    named = environ.get("TF_CLI_CONFIG_FILE") or environ.get("TERRAFORM_CONFIG")
    files = [Path(named)] if named else [home / ".terraformrc", *sorted((home / ".terraform.d").glob("*.tfrc"))]
    if opentofu and not named:
        # https://opentofu.org/docs/cli/config/config-file/
        own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "opentofu", "tofurc")
        files = [home / ".tofurc", own, *files]
    for file in files:
        with contextlib.suppress(OSError):
            if _OWN_INSTALLATION.search(file.read_text(encoding="utf-8", errors="replace")):
                return file
    return None


def mirror_candidates(
    environ: Mapping[str, str], home: Path, *, system: str = sys.platform, optional_software: Path = Path("/opt")
) -> Iterator[Path]:
    """Yield folders that can contain a mirror: Terraform's implied mirrors, then the system's optional software.

    Source: https://developer.hashicorp.com/terraform/cli/config/config-file#implied-local-mirror-directories
    """
    yield home / ".terraform.d" / "plugins"
    if system == "darwin":
        apple = Path("Library", "Application Support", "io.terraform", "plugins")
        yield home / apple
        yield Path("/") / apple
    else:
        data_home = environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")
        data_dirs = environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        for folder in (data_home, *data_dirs.split(":")):
            if folder:
                yield Path(folder, "terraform", "plugins")
        yield Path("/usr/local/share/terraform/plugins")
    with contextlib.suppress(OSError):
        for tree in sorted(optional_software.glob(f"*/{PROVIDER}")):
            yield tree.parent.parent.parent


def look_in(folder: Path, platform: str) -> Mirror | None:
    """Return the mirror in a folder if it has an accepted version for this platform."""
    provider = folder.joinpath(*PROVIDER.split("/"))
    # Terraform follows links only at the top and at the bottom of the tree (tested with 1.11).
    between = [provider, *provider.parents[:2]]
    mirrors: list[Mirror] = []
    try:
        if not provider.is_dir() or any(part.is_symlink() for part in between):
            return None
        for entry in provider.iterdir():
            if match := _PACKED.fullmatch(entry.name):
                version, packed = parse_version(match["version"]), True
                usable = match["platform"] == platform and entry.is_file()
            else:
                version, packed = parse_version(entry.name), False
                usable = not entry.is_symlink() and any((entry / platform).glob("terraform-provider-aws*"))
            if usable and version is not None and PROVIDER_FROM <= version < PROVIDER_BELOW:
                mirrors.append(Mirror(folder, version, packed))
    except OSError:
        return None
    return max(mirrors, key=lambda mirror: (mirror.version, not mirror.packed), default=None)


def for_opentofu(root: Path, mirror: Mirror, platform: str) -> Mirror:
    """Link a mirror of Terraform's registry under the name of OpenTofu's registry, below ``.build/terraform``.

    Both programs run the same provider.
    """
    # One folder for each mirror, so that no run removes a folder that another run uses.
    name = f"opentofu-{hashlib.sha256(bytes(mirror.path)).hexdigest()[:8]}"
    target = root.absolute() / BUILD / name
    for provider in filter(Path.is_dir, (mirror.path / REGISTRY_HOST).glob("*/*")):
        place = target / OPENTOFU_REGISTRY_HOST / provider.parent.name / provider.name
        for entry in provider.iterdir():
            leaf = entry if entry.is_file() else entry / platform
            if leaf.exists():
                link(place / leaf.relative_to(provider), leaf)
    return mirror._replace(path=target, host=OPENTOFU_REGISTRY_HOST)


def registry_reachable(host: str = REGISTRY_HOST, timeout_seconds: float = REGISTRY_TIMEOUT_SECONDS) -> bool:
    """Return whether a registry's service discovery answers within the timeout."""
    answer: list[bool] = []

    def ask() -> None:
        url = f"https://{host}/.well-known/terraform.json"
        try:
            with urllib.request.urlopen(url, timeout=timeout_seconds) as response:
                answer.append("providers.v1" in json.load(response))
        except (OSError, ValueError) as error:
            # Python may have no CA certificates (common on macOS), which does not affect Terraform.
            reason = getattr(error, "reason", error)
            answer.append(isinstance(reason, ssl.SSLCertVerificationError))

    # In a thread, because the timeout does not cover the DNS lookup.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    return answer[:1] == [True]


def cli_config(mirror: Path, providers: Sequence[str] = (PROVIDER,)) -> str:
    """Return a Terraform CLI configuration that installs some providers only from a mirror.

    Raises:
        ValueError: The path contains ``${``, which the CLI configuration cannot escape.
    """
    text = str(mirror)
    if "${" in text or not text.isprintable():
        raise ValueError(f"Terraform's CLI configuration cannot contain the path {text!r}")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    listed = json.dumps(list(providers))
    return (
        "# Generated by eks_hardware/local/terraform.py.\n"
        "provider_installation {\n"
        "  filesystem_mirror {\n"
        f'    path    = "{quoted}"\n'
        f"    include = {listed}\n"
        "  }\n"
        "  direct {\n"
        f"    exclude = {listed}\n"
        "  }\n"
        "}\n"
    )


def prepare(root: Path, environ: Mapping[str, str] | None = None, *, home: Path | None = None) -> Providers:
    """Find the AWS provider, and write Terraform's configuration to ``.build/terraform`` of the project.

    Raises:
        TerraformError: Terraform or its provider is missing.
    """
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    program = find_terraform(environ)
    platform = program.platform
    wanted = f"{_dotted(PROVIDER_FROM)} or newer, below {_dotted(PROVIDER_BELOW)}"
    if user_config(environ, home, opentofu=program.is_opentofu):
        return Providers(Source.USER_CONFIG, environment=program.environment)
    if named := environ.get(MIRROR_VARIABLE):
        source, mirror = Source.NAMED_MIRROR, look_in(Path(named).expanduser().absolute(), platform)
        missing = (
            f"{MIRROR_VARIABLE}={named} contains no {PROVIDER} ({wanted}) for {platform};"
            " set it to the folder above registry.terraform.io"
        )
    elif registry_reachable(program.registry_host):
        return Providers(Source.REGISTRY, environment=program.environment)
    else:
        source, candidates = Source.MIRROR, mirror_candidates(environ, home)
        mirror = next((mirrors for folder in candidates if (mirrors := look_in(folder, platform))), None)
        missing = (
            f"the AWS provider ({wanted}) was not found: {program.registry_host} is unreachable, and this machine has"
            f" no provider mirror for {platform}; set {MIRROR_VARIABLE} to a folder created by"
            " `terraform providers mirror`"
        )
    if mirror is None:
        raise TerraformError(missing)
    if program.is_opentofu:
        mirror = for_opentofu(root, mirror, platform)
    return Providers(source, mirror, {**program.environment, "TF_CLI_CONFIG_FILE": str(_write_config(root, mirror))})


def record_mirror(root: Path, providers: Providers) -> None:
    """Store the mirror for later cdktf runs, or delete the stored mirror if none is needed."""
    record = root / RECORD
    if providers.mirror is not None:
        link(record, providers.mirror.path)
    elif record.is_symlink():
        record.unlink()


def _write_config(root: Path, mirror: Mirror) -> Path:
    # Only stacks with charts need the Helm provider, and most mirrors do not contain it.
    names = (f"{mirror.host}/hashicorp/{name}" for name in ("aws", "helm"))
    providers = [each for each in names if (mirror.path / each).is_dir()]
    # One file for each program, because the other program may be running.
    name = "terraformrc" if mirror.host == REGISTRY_HOST else "tofurc"
    file = root.absolute() / BUILD / name
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = cli_config(mirror.path, providers)
    except ValueError:
        # A path that the configuration cannot express is used through a link.
        record = root.absolute() / RECORD
        link(record, mirror.path)
        try:
            text = cli_config(record, providers)
        except ValueError as error:
            raise TerraformError(f"{error}; move the checkout or the mirror") from error
    atomic_files.replace(file, text.encode())  # another run may be reading it
    return file


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def main() -> int:
    """Record the provider's source for direct ``cdktf`` calls (``make setup``)."""
    root = Path.cwd()
    try:
        providers = prepare(root)
        record_mirror(root, providers)
    except TerraformError as error:
        # `make setup` continues: everything but deployments works without Terraform.
        print(f"note: {error}", file=sys.stderr)
        return 1
    print(f"Terraform gets the AWS provider from {providers.where}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
