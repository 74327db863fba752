"""The real Terraform accepts the generated settings, and finds a mirror in the documented ways."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from eks_hardware.local import terraform
from eks_hardware.provider_mirror import link_mirror

_NEEDS_AWS = '{"terraform": {"required_providers": {"aws": {"source": "hashicorp/aws"}}}}'
_AWKWARD = [
    "plain",
    "with space",
    'with"quote',
    "with\\backslash",
    "with'apostrophe",
    "with$dollar",
    "with%{x}",
    "ü",
]


def _mirror(folder: Path, platform: str) -> Path:
    """Create a mirror whose provider is a text file: it can be installed, but not run."""
    binary = folder.joinpath(*terraform.PROVIDER.split("/"), "5.100.0", platform, "terraform-provider-aws_v5.100.0")
    binary.parent.mkdir(parents=True)
    binary.write_text("not a program", encoding="utf-8")
    binary.chmod(0o755)
    return folder


def _init(stack_dir: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    stack_dir.mkdir(parents=True, exist_ok=True)
    (stack_dir / "cdk.tf.json").write_text(_NEEDS_AWS, encoding="utf-8")
    found = terraform.find_terraform()
    return subprocess.run(
        [str(found.path), "init", "-input=false", "-no-color"],
        capture_output=True,
        check=False,
        cwd=stack_dir,
        # No home directory, so that no settings of this machine are found.
        env={"PATH": os.environ["PATH"], "HOME": str(stack_dir), "CHECKPOINT_DISABLE": "1", **environment},
        text=True,
    )


@pytest.mark.parametrize("name", _AWKWARD)
def test_generated_configuration_is_understood(tmp_path: Path, name: str) -> None:
    mirror = _mirror(tmp_path / name, terraform.find_terraform().platform)
    config = tmp_path / "terraformrc"
    config.write_text(terraform.cli_config(mirror), encoding="utf-8")
    done = _init(tmp_path / "stack", {"TF_CLI_CONFIG_FILE": str(config)})
    assert "Installed hashicorp/aws v5.100.0" in done.stdout, done.stderr
    installed = tmp_path / "stack" / ".terraform" / "providers" / terraform.PROVIDER / "5.100.0"
    assert all(leaf.is_symlink() for leaf in installed.iterdir()), "the provider was copied, not linked"


def test_a_path_that_cannot_be_written_is_reached_through_a_link(tmp_path: Path) -> None:
    platform = terraform.find_terraform().platform
    mirror = _mirror(tmp_path / "with${unclosed", platform)
    environ = {"PATH": os.environ["PATH"], terraform.MIRROR_VARIABLE: str(mirror)}
    providers = terraform.prepare(tmp_path / "project", environ, home=tmp_path)
    done = _init(tmp_path / "stack", providers.environment)
    assert "Installed hashicorp/aws v5.100.0" in done.stdout, done.stderr


@pytest.mark.parametrize("config", [{}, {"TF_CLI_CONFIG_FILE": "no-such-file"}], ids=["plain", "missing-config"])
def test_a_linked_mirror_needs_no_configuration(tmp_path: Path, config: Mapping[str, str]) -> None:
    mirror = _mirror(tmp_path / "mirror", terraform.find_terraform().platform)
    record = tmp_path / "project" / ".build" / "terraform" / "plugins"
    record.parent.mkdir(parents=True)
    record.symlink_to(mirror)
    stack_dir = tmp_path / "project" / "cdktf.out" / "stacks" / "one"
    stack_dir.mkdir(parents=True)
    link_mirror(tmp_path / "project" / "cdktf.out", tmp_path / "project")
    done = _init(stack_dir, config)
    assert "Installed hashicorp/aws v5.100.0" in done.stdout, done.stderr
