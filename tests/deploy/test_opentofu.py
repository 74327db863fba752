"""OpenTofu deploys the same stacks as Terraform. ``make cluster-tools`` builds it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from eks_hardware.local import terraform
from eks_hardware.local.emulator import Emulator
from helpers.cluster_programs import programs
from helpers.shared import Once
from helpers.synthesized import with_overlay

from .conftest import Project, TerraformCli


def test_a_deployment_changes_nothing_more_and_leaves_nothing(
    terraform_cli: TerraformCli, emulator: Emulator, once: Once, tmp_path: Path
) -> None:
    tofu = programs("opentofu")["tofu"]
    named = {**os.environ, terraform.PROGRAM_VARIABLE: str(tofu)}
    providers = terraform.prepare(tmp_path, named)
    # The provider's configuration in terraform_cli names Terraform's registry.
    environment = {**emulator.environment(), **terraform_cli.environment, **providers.environment}
    (stack,) = (each for each in with_overlay(once, "local") if each.strategy == "development")
    folder = tmp_path / "stack"
    folder.mkdir()
    shutil.copy(stack.file, folder)
    project = Project(folder, environment, tofu)
    project.init()
    try:
        project.apply()
        addresses = project.addresses()
        assert len(addresses) > 50
        plan = project.plan()
        assert (plan.exit_code, plan.changes) == (0, {})
    finally:
        project.destroy()
    assert project.addresses() == []
    assert "registry.opentofu.org/hashicorp/aws" in (folder / ".terraform.lock.hcl").read_text(encoding="utf-8")
