"""Fixtures that deploy with the real Terraform and AWS provider to an emulated AWS.

Terraform uses a running provider (helpers/provider.py). tests/deploy/test_terraform.py and the demo in
tests/package/test_project.py let it find and start one.

A missing Terraform or provider fails these tests, because skipped tests would look like passed ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pytest

from eks_hardware.local import terraform, terraform_output, tools
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from helpers.answers import Answer
from helpers.conformance import violations
from helpers.emulated_ec2 import REGION
from helpers.paths import ROOT, SHIPPED
from helpers.polling import eventually
from helpers.provider import running_provider

_TIMEOUT_SECONDS = 900
PLAN = "test.tfplan"
"""The file that :meth:`Project.plan` writes to the stack's folder."""

_ONLY_THE_PROVIDER = {
    "terraform": {
        "required_providers": {
            "aws": {
                "source": "hashicorp/aws",
                "version": ">= {}.{}.{}, < {}.{}.{}".format(*terraform.PROVIDER_FROM, *terraform.PROVIDER_BELOW),
            }
        }
    }
}


@dataclass(frozen=True)
class TerraformCli:
    """A Terraform that finds the AWS provider.

    Attributes:
        program: The program.
        environment: Variables in addition to the environment of the test run.
        cdktf: The cdktf command line.
        provider: The AWS provider that Terraform has loaded.
    """

    program: Path
    environment: Mapping[str, str]
    cdktf: Path
    provider: Path

    def answer(self, question: str, *inputs: object) -> Answer:
        """Return the cached result of a question that has the same answer for the same inputs and programs."""
        program = (self.program, self.program.stat().st_size)
        return Answer(question, [*program, self.provider.name, self.provider.stat().st_size, *inputs])


@dataclass(frozen=True)
class Plan:
    """The result of ``terraform plan``.

    Attributes:
        exit_code: That of ``-detailed-exitcode``: 0 nothing to do, 2 something to do.
        changes: Address to action (``create``, ``update``, ``replace``, ``delete``, ``read``) of each change.
        show: Runs ``terraform show -json``, which starts the provider again.
    """

    exit_code: int
    changes: Mapping[str, str]
    show: Callable[[], str]

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The whole plan."""
        document: Mapping[str, Any] = json.loads(self.show())
        return document


@dataclass(frozen=True)
class Project:
    """A synthesized stack with its Terraform commands.

    Attributes:
        stack_dir: The folder with ``cdk.tf.json``.
        environment: The environment of the commands.
        terraform: The program.
    """

    stack_dir: Path
    environment: Mapping[str, str]
    terraform: Path

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        """Run Terraform in the stack's folder; fail the test with its output on any other exit code."""
        return _run([str(self.terraform), *arguments], cwd=self.stack_dir, env=self.environment, codes=codes)

    def aws(self, *arguments: str) -> None:
        """Run the AWS CLI; fail the test with its output if it fails."""
        _run([str(Path(sys.executable).with_name("aws")), *arguments], cwd=self.stack_dir, env=self.environment)

    def init(self) -> None:
        """Initialize with the synthesized backend."""
        self.run("init", "-input=false", "-no-color")

    def validate(self) -> Mapping[str, Any]:
        """Return the output of ``terraform validate -json``."""
        document: Mapping[str, Any] = json.loads(self.run("validate", "-json", codes=(0, 1)).stdout)
        return document

    def apply(self) -> None:
        """Create everything."""
        self.run("apply", "-auto-approve", "-input=false", "-no-color")

    def interrupt(
        self,
        event: str,
        address: str,
        until: Callable[[], bool] = lambda: True,
        *,
        by: signal.Signals = signal.SIGINT,
        command: Literal["apply", "destroy"] = "apply",
        number: int = 1,
        without: Collection[str] = (),
    ) -> list[str]:
        """Press Ctrl-C during an apply or a destroy, or kill it; return the addresses in the state afterwards.

        None if the kill broke the state file.

        Args:
            event: when, such as ``apply_start`` or ``apply_complete``. A destroy has the same events.
            address: how the address of the resource begins.
            until: what to wait for after the event. Terraform announces a start before it calls the provider.
            by: the signal that ends it.
            command: what is interrupted.
            number: which of the events counts.
            without: addresses whose events do not count.
        """
        arguments = [str(self.terraform), command, "-auto-approve", "-input=false", "-json"]
        left = number
        with subprocess.Popen(
            arguments,
            cwd=self.stack_dir,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as terraform:
            assert terraform.stdout is not None
            for line in terraform.stdout:
                found = json.loads(line)
                if found["type"] == event:
                    at = found["hook"]["resource"]["addr"]
                    left -= at.startswith(address) and at not in without
                if not left:
                    assert eventually(until)
                    terraform.send_signal(by)
                    break
            said = terraform.stdout.read()
        assert terraform.returncode == (-by if by == signal.SIGKILL else 1), said
        return self.addresses()

    def plan(self, *flags: str) -> Plan:
        """Return Terraform's plan for the current state."""
        arguments = ("-json", "-input=false", "-detailed-exitcode", f"-out={PLAN}", *flags)
        planned = self.run("plan", *arguments, codes=(0, 2))
        said = [json.loads(line) for line in planned.stdout.splitlines()]
        changes = {
            each["change"]["resource"]["addr"]: each["change"]["action"]
            for each in said
            if each["type"] == "planned_change"
        }
        return Plan(planned.returncode, changes, lambda: self.run("show", "-json", PLAN).stdout)

    def document(self) -> Mapping[str, Any]:
        """Return the configuration."""
        document: Mapping[str, Any] = json.loads((self.stack_dir / "cdk.tf.json").read_text(encoding="utf-8"))
        return document

    def addresses(self) -> list[str]:
        """Return the addresses in the state; none if a killed Terraform wrote no state, or a part of it."""
        listed = self.run("state", "list", codes=(0, 1))
        no_state = ("No state file was found", "Unsupported state file format")
        assert listed.returncode == 0 or any(each in listed.stderr for each in no_state), listed.stderr
        return listed.stdout.split()

    def tainted(self) -> set[str]:
        """Return the addresses that the next plan replaces, because their creation was interrupted."""
        values = json.loads(self.run("show", "-json").stdout)["values"]
        return {each["address"] for each in values["root_module"]["resources"] if each.get("tainted")}

    def destroy(self) -> None:
        """Destroy everything."""
        self.run("destroy", "-auto-approve", "-refresh=false", "-input=false", "-no-color")


class Deploy:
    """Deployments of stacks to the emulator.

    Attributes:
        directory: A new folder for each deployment.
    """

    def __init__(self, cli: TerraformCli, environment: Mapping[str, str], directory: Callable[[], Path]) -> None:
        self._cli = cli
        self._environment = environment
        self.directory = directory

    def project(self, stack_dir: Path) -> Project:
        """Return a project on a copy of a synthesized stack, so that the original does not change.

        The copy is in the same place as with cdktf, because the backend's path is relative.
        """
        copy = self.directory() / "cdktf.out" / "stacks" / stack_dir.name
        copy.mkdir(parents=True)
        shutil.copy(stack_dir / "cdk.tf.json", copy)
        return Project(copy, self._environment, self._cli.program)

    def applied(self, stack_dir: Path) -> Project:
        """Apply a synthesized stack with Terraform, and leave it to the end of the emulator."""
        project = self.project(stack_dir)
        project.init()
        project.apply()
        return project

    @contextlib.contextmanager
    def directly(self, stack_dir: Path) -> Iterator[Project]:
        """Apply a synthesized stack with Terraform for the duration of the block, then destroy it."""
        project = self.project(stack_dir)
        project.init()
        try:
            project.apply()
            yield project
        finally:
            project.destroy()

    @contextlib.contextmanager
    def __call__(self, stack: str) -> Iterator[Project]:
        """Deploy a shipped strategy with this checkout's app and the real cdktf, then destroy it with Terraform.

        The demo in tests/package/test_project.py lets cdktf destroy one, which takes it seconds to start. The overlay
        is ``local``, because charts would otherwise need a cluster.
        """
        outdir = self.directory() / "cdktf.out"
        environment = {
            **self._environment,
            "EKS_HARDWARE_OVERLAY": "local",
            # cdktf would synthesize every strategy.
            "EKS_HARDWARE_STRATEGIES": str(SHIPPED / f"{stack}.yaml"),
        }
        project = Project(outdir / "stacks" / stack, environment, self._cli.program)
        flags = ["--auto-approve", "--skip-provider-lock", "--output", str(outdir)]
        try:
            _run([str(self._cli.cdktf), "deploy", stack, *flags], cwd=ROOT, env=environment)
            yield project
        finally:
            if project.stack_dir.exists():
                project.destroy()


@pytest.fixture(scope="session")
def terraform_cli(tmp_path_factory: pytest.TempPathFactory) -> TerraformCli:
    """Return the real Terraform, after it has loaded the real provider."""
    try:
        found = terraform.find_terraform()
        providers = terraform.prepare(ROOT)
        node = tools.find_tools(ROOT)
    except (terraform.TerraformError, tools.ToolsMissing) as error:
        pytest.fail(str(error), pytrace=False)
    environment = tools.cdktf_environment(
        providers.environment, node_major=node.node_major, log_dir=tmp_path_factory.mktemp("cdktf-log")
    )
    build = ROOT / ".build" / "terraform"
    if providers.mirror is None or providers.mirror.packed:
        # Link to an unpacked mirror; otherwise every stack needs several hundred megabytes.
        cache = build / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        environment["TF_PLUGIN_CACHE_DIR"] = str(cache)
        environment["TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"] = "1"
    trial = tmp_path_factory.mktemp("provider")
    (trial / "cdk.tf.json").write_text(json.dumps(_ONLY_THE_PROVIDER), encoding="utf-8")
    build.mkdir(parents=True, exist_ok=True)
    with (build / "cache.lock").open("w") as lock:
        # Terraform's cache supports one writer; later runs only read it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        Project(trial, {**os.environ, **environment}, found.path).init()
    (provider,) = trial.glob(".terraform/providers/*/hashicorp/aws/*/*/terraform-provider-aws_*")
    return TerraformCli(found.path, environment, node.cdktf, provider)


@contextlib.contextmanager
def checked_emulator(folder: Path) -> Iterator[Emulator]:
    """Run an emulator that records what clients send, and fail at its end for requests that AWS would refuse."""
    requests = folder / "requests.jsonl"
    with Emulator(folder / "emulator.log", requests_file=requests) as running:
        yield running
    refused = violations(requests)
    assert not refused, "AWS would refuse these requests:\n" + "\n".join(refused)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Return the emulated AWS of this module, because capacity and API server are settings of all its clusters."""
    with checked_emulator(tmp_path_factory.mktemp("emulator")) as running:
        yield running


@pytest.fixture(scope="module")
def account(emulator: Emulator) -> Iterator[Callable[[str], Account]]:
    """Return the emulated account in a region: ``account("us-west-2").client("eks")``."""
    accounts: dict[str, Account] = {}

    def in_region(region: str) -> Account:
        if region not in accounts:
            accounts[region] = Account(emulator.endpoint_url, region)
        return accounts[region]

    yield in_region
    for opened in accounts.values():
        opened.close()


@pytest.fixture(scope="module")
def deploy(
    terraform_cli: TerraformCli, emulator: Emulator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deploy]:
    """Return a function that deploys to the emulator, with one provider for all deployments of the module.

    Example: ``with deploy("mixed-hardware") as project: ...``.
    """
    environment = {**emulator.environment(), **terraform_cli.environment}
    with running_provider(terraform_cli.provider, tmp_path_factory.mktemp("running"), environment) as shared:
        yield Deploy(terraform_cli, {**environment, **shared}, lambda: tmp_path_factory.mktemp("deploy"))


@pytest.fixture(scope="session")
def schemas(terraform_cli: TerraformCli, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    """Return the AWS provider's schema of every resource and data source."""

    def ask() -> Any:
        folder = tmp_path_factory.mktemp("schemas")
        (folder / "cdk.tf.json").write_text(json.dumps(_ONLY_THE_PROVIDER), encoding="utf-8")
        project = Project(folder, {**os.environ, **terraform_cli.environment}, terraform_cli.program)
        project.init()
        return json.loads(project.run("providers", "schema", "-json").stdout)

    (provider,) = terraform_cli.answer("schemas").get(ask)["provider_schemas"].values()
    return {"resource": provider["resource_schemas"], "data": provider["data_source_schemas"]}


def _run(
    argv: list[str], *, cwd: Path, env: Mapping[str, str], codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=_TIMEOUT_SECONDS,
    )
    if done.returncode not in codes:
        lines = [terraform_output.plain(_message(line)) for line in (done.stdout + done.stderr).splitlines()]
        said = "\n".join(terraform_output.errors(lines))
        pytest.fail(f"{' '.join(argv)} ended with {done.returncode}:\n{said}", pytrace=False)
    return done


def _message(line: str) -> str:
    """Return the message of a line of ``-json``, or another line as it is."""
    return json.loads(line)["@message"] if line.startswith('{"@level"') else line


# --- the account of the tests of the emulator's patches


@pytest.fixture(scope="module")
def aws(account: Callable[[str], Account]) -> Account:
    return account(REGION)


@pytest.fixture
def ec2(aws: Account) -> Any:
    return aws.client("ec2")


@pytest.fixture(scope="module")
def subnets(aws: Account) -> dict[str, str]:
    """Return a subnet in each of two zones of a VPC, by the zone's name."""
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZoneId=f"usw2-az{number}")["Subnet"]
        for number in (1, 4)
    ]
    return {each["AvailabilityZone"]: each["SubnetId"] for each in made}
