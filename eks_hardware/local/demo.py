"""Deploy a strategy with the real cdktf and Terraform to a local AWS emulator, and destroy it again.

Every run writes its files, including Terraform's state, to its own folder below ``.build/demo``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eks_hardware.findings import StrategyError
from eks_hardware.kubernetes.files.summary import Summary, read_summary, summary_table
from eks_hardware.kubernetes.files.tree import RELEASES_FILE
from eks_hardware.loader.discovery import OVERLAY_VARIABLE, named_strategy, read_environment
from eks_hardware.local import demo_folder, emulator, processes, terraform, terraform_output, tools
from eks_hardware.local.demo_folder import DemoError
from eks_hardware.local.emulator import Emulator, EmulatorError
from eks_hardware.local.readback import Account, ClusterFacts, left_over
from eks_hardware.local.steps import Step, Steps
from eks_hardware.printable import counted
from eks_hardware.resolve import provider_floor
from eks_hardware.spellings import capacity_of_eks
from eks_hardware.validation import load_strategy
from eks_hardware.versions import numbers

_RUNS = Path(".build") / "demo"
_RECORD = "demo.json"
# The overlay omits what the emulator lacks, and writes Kubernetes objects to files: the emulator has no cluster API.
_OVERLAY = "local"
# A temporary deployment needs no checksums for other platforms. A separate step has synthesized the stack.
_APPLY = ("--auto-approve", "--skip-provider-lock", "--skip-synth")
_STARTS_EMPTY = "The emulator starts empty. It cannot deploy a stack that reads existing resources, such as a cluster."


@dataclass(frozen=True)
class Kept:
    """The data to stop a demo that was left running."""

    stack: str
    pid: int
    port: int
    token: str
    work_dir: str


def run_demo(console: Console, *, root: Path, stack: str, named: str, keep: bool) -> int:
    """Run the demo of a stack, and return the exit code.

    Other commands find the strategy by ``named``: its file or its name. With ``keep`` leave the demo running, and print
    how to inspect and stop it.
    """
    runs = root / _RUNS
    runs.mkdir(parents=True, exist_ok=True)
    run_dir = Path(tempfile.mkdtemp(prefix=f"{re.sub(r'[^A-Za-z0-9_-]', '-', stack)}-", dir=runs))
    demo = _Demo(console, root, run_dir, stack, named)
    try:
        with processes.signals_unwind():
            left_running = demo.run(keep=keep)
    except KeyboardInterrupt:
        console.print("Interrupted; all started processes are stopped.")
        shutil.rmtree(run_dir, ignore_errors=True)
        return 130
    except processes.Terminated:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise
    except (DemoError, EmulatorError, terraform.TerraformError, tools.ToolsMissing) as error:
        for finding in error.lines if isinstance(error, tools.ToolsMissing) else [str(error)]:
            console.print(Text.assemble(("error: ", "bold red"), finding), soft_wrap=True)
        demo.tidy_after_failure()
        return 1
    if not left_running:
        shutil.rmtree(run_dir, ignore_errors=True)
    return 0


def stop_kept(console: Console, root: Path) -> None:
    """Stop every demo that was left running in this checkout."""
    records = sorted((root / _RUNS).glob(f"*/{_RECORD}"))
    for record in records:
        kept = Kept(**json.loads(record.read_text(encoding="utf-8")))
        was_running = emulator.stop_detached(kept.pid, kept.port, kept.token, Path(kept.work_dir))
        shutil.rmtree(record.parent, ignore_errors=True)
        console.print(f"{kept.stack}: " + ("stopped" if was_running else "was no longer running"))
    if not records:
        console.print("no demo is running")


def _provider_reason(named: str) -> str:
    """Return the field for which a strategy needs its provider version; empty for the stacks of another app."""
    paths, overlays = read_environment(os.environ)
    try:
        loaded = load_strategy(named_strategy(named, paths), overlays=overlays)
    except StrategyError:
        return ""
    return provider_floor(loaded.strategy)[1]


class _Demo:
    """One run."""

    def __init__(self, console: Console, root: Path, run_dir: Path, stack: str, named: str) -> None:
        self._console = console
        self._root = root
        self._run_dir = run_dir
        self._stack = stack
        self._named = named
        self._steps = Steps(console)
        self._outdir = run_dir / "cdktf.out"
        self._log_file = run_dir / "demo.log"
        self._cdktf = Path()

    def run(self, *, keep: bool) -> bool:
        """Run all steps; return whether the demo was left running."""
        found, providers = self._find_tools()
        with contextlib.ExitStack() as running:
            with self._steps.step("Local AWS") as step:
                step.update("starting ministack")
                local_aws = running.enter_context(
                    Emulator(self._run_dir / "emulator.log", work_dir=self._run_dir / "emulator")
                )
                step.result = f"ministack on {local_aws.endpoint_url}"
            environment = tools.cdktf_environment(
                {
                    **local_aws.environment(),
                    **demo_folder.environment(self._root, os.environ),
                    **providers.environment,
                    **overlay_environment(os.environ),
                },
                node_major=found.node_major,
                log_dir=self._run_dir,
            )
            with self._steps.step("Synthesize") as step:
                self._run_cdktf("synth", [], environment, step)
                document = self._document()
                self._check_provider(document, providers)
                region = self._region(document)
                step.result = f"{self._stack}, {region}"
            account = Account(local_aws.endpoint_url, region)
            running.callback(account.close)
            blank = account.inventory()
            with self._steps.step("Deploy") as step:
                progress = self._run_cdktf("deploy", [self._stack, *_APPLY], environment, step)
                step.result = f"{counted(progress.done, 'resource')} created"
            with self._steps.step("Read back") as step:
                step.update("reading from EKS, EC2, SQS, EventBridge and IAM")
                clusters = account.clusters(besides=blank)
                step.result = "resources in the emulator:"
            for cluster in clusters:
                self._console.print()
                for part in describe(cluster):
                    self._console.print(part)
            self._print_manifests(keep=keep)
            self._console.print()
            if keep:
                self._leave_running(local_aws, environment, region, clusters)
                return True
            with self._steps.step("Destroy") as step:
                progress = self._run_cdktf("destroy", [self._stack, *_APPLY], environment, step)
                step.result = f"{counted(progress.done, 'resource')} destroyed"
            with self._steps.step("Check") as step:
                step.update("looking for remaining resources")
                self._check_nothing_left(blank, account)
                step.result = "no resources remain"
        return False

    def _find_tools(self) -> tuple[tools.Tools, terraform.Providers]:
        with self._steps.step("Tools") as step:
            emulator.check_installed()  # before cdktf is downloaded
            if demo_folder.is_own(self._root):
                step.update(f"installing cdktf in {self._root}, the first time only")
                demo_folder.install_cdktf(self._root)
            step.update("looking for python, node, terraform and cdktf")
            found = tools.find_tools(self._root)
            step.update("looking for the AWS provider")
            providers = terraform.prepare(self._root)
            self._cdktf = found.cdktf
            step.result = f"AWS provider from {providers.where}"
        return found, providers

    def tidy_after_failure(self) -> None:
        """Keep files that explain the failure, delete large ones, and print the path of the log."""
        for heavy in self._outdir.glob("stacks/*/.terraform"):
            shutil.rmtree(heavy, ignore_errors=True)
        if self._log_file.exists():
            log = self._shown(self._log_file)
            self._console.print(f"log: {log}", markup=False, highlight=False, soft_wrap=True)
        else:
            shutil.rmtree(self._run_dir, ignore_errors=True)

    def _run_cdktf(
        self, command: str, arguments: list[str], environment: Mapping[str, str], step: Step
    ) -> terraform_output.Progress:
        """Run a cdktf command, and show its progress."""
        argv = [str(self._cdktf), command, *arguments, "--output", str(self._outdir)]
        progress = terraform_output.Progress()
        if command != "synth":
            progress.phase = "starting cdktf"
        step.update(progress.current)
        lines: list[str] = []
        with self._log_file.open("a", encoding="utf-8") as log:
            log.write(f"$ {shlex.join(argv)}\n")
            process = processes.start(argv, cwd=self._root, env=environment, stdout=subprocess.PIPE)
            try:
                for line in _output(process):
                    lines.append(line)
                    log.write(line + "\n")
                    if progress.feed(line):
                        step.update(progress.current, progress.done, progress.total)
                code = process.wait()
            finally:
                processes.stop(process)
        if code:
            said = "\n".join(terraform_output.errors(lines))
            empty = f"\n{_STARTS_EMPTY}" if command == "deploy" and " in data." in said else ""
            raise DemoError(f"cdktf {command} failed:\n{said}{empty}")
        return progress

    def _document(self) -> dict[str, Any]:
        """Return the synthesized stack."""
        stacks = self._outdir / "stacks"
        file = stacks / self._stack / "cdk.tf.json"
        if not file.is_file():
            names = ", ".join(sorted(path.parent.name for path in stacks.glob("*/cdk.tf.json")))
            raise DemoError(f"unknown stack {self._stack}; known: {names or 'none'}")
        try:
            document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DemoError(f"the stack {self._stack} is not valid JSON: {error}") from None
        return document

    def _check_provider(self, document: Mapping[str, Any], providers: terraform.Providers) -> None:
        """Fail early if the stack needs a newer AWS provider than this machine has."""
        required = document.get("terraform", {}).get("required_providers", {}).get("aws", {}).get("version", "")
        lowest = re.match(r"(?:>=|=)? ?([0-9.]+)", required)
        if providers.mirror and lowest and numbers(lowest[1]) > providers.mirror.version:
            reason = _provider_reason(self._named)
            fix = "remove that setting" if reason else "allow older ones with an override of required_providers.aws"
            raise DemoError(
                f"{self._stack} needs the AWS provider {required}{f' ({reason})' if reason else ''}, but the demo uses "
                f"{providers.where}; {fix}, or set {terraform.MIRROR_VARIABLE} to a mirror with a newer one"
            )

    def _region(self, document: Mapping[str, Any]) -> str:
        """Return the region of the synthesized stack."""
        try:
            return str(document["provider"]["aws"][0]["region"])
        except LookupError as error:
            raise DemoError(f"the stack {self._stack} has no AWS provider with a region") from error

    def _print_manifests(self, *, keep: bool) -> None:
        """Show the manifests for the cluster. Other apps may write none."""
        folder = self._outdir / "stacks" / self._stack / "kubernetes"
        if not (folder / RELEASES_FILE).is_file():
            return
        self._console.print()
        for part in describe_manifests(read_summary(folder)):
            self._console.print(part)
        self._console.print()
        render = f"`eks-hardware render {shlex.quote(self._named)} --output FOLDER` writes the files."
        line = f"In {self._shown(folder)}." if keep else render
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _check_nothing_left(self, before: Mapping[str, frozenset[str]], account: Account) -> None:
        left = left_over(before, account.inventory())
        found = [f"{kind} {name}" for kind, names in sorted(left.items()) for name in sorted(names)]
        for state in sorted(self._run_dir.glob("terraform.*.tfstate")):
            found += [
                f"{resource['type']}.{resource['name']} in the state"
                for resource in json.loads(state.read_text(encoding="utf-8")).get("resources", [])
                if resource.get("mode") == "managed"
            ]
        if found:
            raise DemoError("resources remain after cdktf destroy:\n" + "\n".join(found))

    def _shown(self, path: Path) -> str:
        """Return a path as the user can open it in the working folder."""
        return os.path.relpath(path, self._root) if self._root == Path.cwd() else str(path.absolute())

    def _leave_running(
        self, local_aws: Emulator, environment: Mapping[str, str], region: str, clusters: list[ClusterFacts]
    ) -> None:
        kept = Kept(self._stack, local_aws.pid, local_aws.port, local_aws.token, str(local_aws.work_dir))
        script = self._run_dir / "env.sh"
        script.write_text(environment_script(environment, region=region), encoding="utf-8")
        (self._run_dir / _RECORD).write_text(json.dumps(asdict(kept), indent=2) + "\n", encoding="utf-8")
        local_aws.detach()

        def relative(path: Path) -> str:
            return shlex.quote(os.path.relpath(path, self._root))

        name = clusters[0].name if clusters else self._stack
        outdir = relative(self._outdir)
        here = self._root == Path.cwd()
        for line in (
            f"The demo is still running. To inspect it, run{' in this folder' if here else ''}:",
            "",
            *([] if here else [f"  cd {shlex.quote(str(self._root))}"]),
            f"  . {relative(script)}",
            f"  aws eks describe-cluster --name {name}",
            f"  npx cdktf output {self._stack} --skip-synth --output {outdir}",
            f"  terraform -chdir={outdir}/stacks/{self._stack} state list",
            "",
            "To stop it:",
            "",
            "  make demo-stop" if self._root == demo_folder.CHECKOUT else "  eks-hardware demo --stop",
        ):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _output(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the lines of a process's output until it closes it."""
    assert process.stdout is not None
    with process.stdout:
        for raw in process.stdout:
            yield terraform_output.plain(raw.decode("utf-8", errors="replace"))


def overlay_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that applies the emulator's overlay to every strategy, after the configured ones."""
    named = [name for name in read_environment(environ).overlays if name != _OVERLAY]
    return {OVERLAY_VARIABLE: ",".join([*named, _OVERLAY])}


def environment_script(environment: Mapping[str, str], *, region: str) -> str:
    """Return a shell script that connects AWS clients and Terraform to the emulator."""
    own = {
        name: value
        for name, value in environment.items()
        if name.startswith("AWS_") or name in ("NO_PROXY", "no_proxy", "TF_CLI_CONFIG_FILE")
    }
    own |= {"AWS_REGION": region, "AWS_DEFAULT_REGION": region}
    gone = sorted(name for name in os.environ if name.startswith("AWS_") and name not in own)
    return "".join(
        [f"unset {name}\n" for name in {"AWS_PROFILE": 0, **dict.fromkeys(gone)}]
        + [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(own.items())]
    )


def describe(cluster: ClusterFacts) -> list[Any]:
    """Return a short report of a cluster, 80 columns wide."""
    title = Text.assemble((cluster.name, "bold"), f"  EKS {cluster.kubernetes_version}, {cluster.region}")
    groups = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold underline")
    for name in ("Node group", "Instance types", "Capacity", "AMI type"):
        groups.add_column(name, overflow="fold")
    for name in ("Nodes", "EFA"):
        groups.add_column(name, justify="right", no_wrap=True)
    for group in cluster.node_groups:
        groups.add_row(
            group.name,
            "\n".join(group.instance_types),
            capacity_of_eks(group.capacity_type),
            group.ami_type,
            f"{group.min_size}-{group.max_size}",
            str(group.efa_interfaces) if group.efa_interfaces else "-",
        )
    facts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    fed = f", with {counted(len(cluster.rules), 'event rule')}" if cluster.rules else ""
    rows = {
        "Zones": f"{', '.join(cluster.zones)} ({counted(cluster.subnets, 'subnet')})",
        "Add-ons": ", ".join(cluster.addons),
        "Access entries": "\n".join(cluster.access_entries),
        "Pod identities": "\n".join(f"{who} as {role}" for who, role in cluster.pod_identities.items()),
        "Karpenter queue": ", ".join(cluster.queues) + fed,
        "Karpenter roles": "\n".join(role for role in cluster.roles if "karpenter" in role.lower()),
    }
    for name, value in rows.items():
        facts.add_row(name, value or "-")
    return [title, "", groups, "", facts] if cluster.node_groups else [title, "", facts]


def describe_manifests(summary: Summary) -> list[Any]:
    """Return a short report of the manifests for the cluster, 80 columns wide."""
    title = Text.assemble(("Kubernetes", "bold"), "  written, not applied: the emulator has no API server")
    parts = [title, "", summary_table(summary)] if summary.releases else [title]
    if summary.fill_in:
        parts += ["", Text(f"Placeholders to fill in from the stack's outputs: {', '.join(summary.fill_in)}")]
    return parts
