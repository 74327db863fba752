"""Deploy a strategy with the real cdktf and Terraform to a local AWS emulator, and destroy it again.

With a local Kubernetes, the demo also installs the releases and runs sample workloads
(:mod:`eks_hardware.local.demo_cluster`).

Every run writes its files, including Terraform's state, to its own folder below ``.build/demo``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.text import Text

from eks_hardware import atomic_files
from eks_hardware.findings import StrategyError
from eks_hardware.kubernetes.files.summary import read_summary
from eks_hardware.kubernetes.files.tree import RELEASES_FILE
from eks_hardware.loader.discovery import OVERLAY_VARIABLE, named_strategy, read_environment
from eks_hardware.local import cluster_tools, demo_folder, emulator, processes, terraform, terraform_output, tools
from eks_hardware.local.cluster import ClusterError
from eks_hardware.local.demo_cluster import DemoCluster, Options
from eks_hardware.local.demo_folder import DemoError
from eks_hardware.local.demo_report import describe, describe_manifests
from eks_hardware.local.emulator import Emulator, EmulatorError
from eks_hardware.local.karpenter_process import KarpenterError
from eks_hardware.local.kueue_process import KueueError
from eks_hardware.local.readback import Account, ClusterFacts, left_over
from eks_hardware.local.steps import Step, Steps
from eks_hardware.printable import counted, reason
from eks_hardware.resolve import provider_floor
from eks_hardware.validation import load_strategy
from eks_hardware.versions import numbers

_RUNS = Path(".build") / "demo"
_RECORD = "demo.json"
# Locked by a running demo. The lock is released when the demo's process ends, even if it is killed.
_LOCK = "lock"
# The overlay omits what the emulator does not support. Kubernetes objects are written to files, because the emulator
# has no Kubernetes API.
_OVERLAY = "local"
# A temporary deployment needs no checksums for other platforms. A separate step has synthesized the stack.
_APPLY = ("--auto-approve", "--skip-provider-lock", "--skip-synth")
_STARTS_EMPTY = "The emulator starts empty. It cannot deploy a stack that reads existing resources, such as a cluster."
_FAILURES = (
    ClusterError,
    DemoError,
    EmulatorError,
    KarpenterError,
    KueueError,
    cluster_tools.ToolsMissing,
    terraform.TerraformError,
    tools.ToolsMissing,
)


@dataclass(frozen=True)
class Kept:
    """The data to stop a demo that was left running. ``pid`` is the emulator's, or the demo's if it has a cluster."""

    stack: str
    pid: int
    port: int
    token: str
    work_dir: str


def run_demo(
    console: Console,
    *,
    root: Path,
    stack: str,
    named: str,
    keep: bool,
    cluster: Options | None = None,
    stay: Callable[[], None] | None = None,
) -> int:
    """Run the demo of a stack, and return the exit code.

    Args:
        console: the console to print to.
        root: the project's folder.
        stack: the stack's name.
        named: the stack's strategy as other commands accept it: a file or a name.
        keep: leave the demo running, and print how to inspect and stop it.
        cluster: the strategy and charts for a local Kubernetes; None for AWS alone.
        stay: with ``keep`` and a cluster, a function that waits until a signal ends this process. The cluster's threads
            and programs end with this process.
    """
    runs = root / _RUNS
    try:
        runs.mkdir(parents=True, exist_ok=True)
        run_dir = Path(tempfile.mkdtemp(prefix=f"{re.sub(r'[^A-Za-z0-9_-]', '-', stack)}-", dir=runs))
    except OSError as error:
        console.print(Text.assemble(("error: ", "bold red"), f"{runs}: {reason(error)}"), soft_wrap=True)
        return 1
    demo = _Demo(console, root, run_dir, stack, named, cluster, stay)
    try:
        with processes.signals_unwind(), (run_dir / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            left_running = demo.run(keep=keep)
    except KeyboardInterrupt:
        console.print("Interrupted; all started processes are stopped.")
        shutil.rmtree(run_dir, ignore_errors=True)
        return 130
    except processes.Terminated:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise
    except _FAILURES as error:
        for finding in error.lines if isinstance(error, tools.ToolsMissing) else [str(error)]:
            console.print(Text.assemble(("error: ", "bold red"), finding), soft_wrap=True)
        demo.tidy_after_failure()
        return 1
    if not left_running:
        shutil.rmtree(run_dir, ignore_errors=True)
    return 0


def stop_kept(console: Console, root: Path) -> None:
    """Stop every demo that was left running in this project, and remove the folders of all demos that have ended."""
    stopped = False
    for folder in sorted(file for file in (root / _RUNS).glob("*") if file.is_dir()):
        kept = _kept(folder)
        if kept is None and _is_running(folder):
            continue
        if kept is not None:
            was_running = emulator.stop_detached(kept.pid, kept.port, kept.token, Path(kept.work_dir))
            console.print(f"{kept.stack}: " + ("stopped" if was_running else "was no longer running"))
            stopped = True
        shutil.rmtree(folder, ignore_errors=True)
    if not stopped:
        console.print("no demo was left running")


def _kept(folder: Path) -> Kept | None:
    """Return the data of a demo that was left running; None if the file is missing or incomplete."""
    try:
        return TypeAdapter(Kept).validate_json((folder / _RECORD).read_bytes(), strict=True)
    except (OSError, ValidationError):
        return None


def _is_running(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _provider_reason(named: str) -> str:
    """Return the reason for a strategy's lowest provider version; empty for another app's stacks."""
    paths, overlays = read_environment(os.environ)
    try:
        loaded = load_strategy(named_strategy(named, paths), overlays=overlays)
    except StrategyError:
        return ""
    return provider_floor(loaded.strategy)[1]


class _Demo:
    """One run of the demo."""

    def __init__(
        self,
        console: Console,
        root: Path,
        run_dir: Path,
        stack: str,
        named: str,
        cluster: Options | None = None,
        stay: Callable[[], None] | None = None,
    ) -> None:
        self._console = console
        self._root = root
        self._run_dir = run_dir
        self._stack = stack
        self._named = named
        self._steps = Steps(console)
        self._outdir = run_dir / "cdktf.out"
        self._log_file = run_dir / "demo.log"
        self._cdktf = Path()
        self._stay = stay
        self._cluster = DemoCluster(console, cluster, run_dir, self._log_file) if cluster else None

    def run(self, *, keep: bool) -> bool:
        """Run all steps; return whether the demo was left running."""
        if self._cluster:
            self._cluster.print_differences()
        found, providers = self._find_tools()
        with contextlib.ExitStack() as running:
            local_aws = self._start_aws(running)
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
            region = self._synthesize(environment, providers)
            account = Account(local_aws.endpoint_url, region)
            running.callback(account.close)
            blank = account.inventory()
            if self._cluster:
                running.callback(self._cluster.stop)
                self._cluster.start(local_aws, account)
            clusters = self._deploy(environment, account, blank)
            if self._cluster:
                self._cluster.install(self._manifests, self._outputs(environment))
                self._cluster.run_workloads()
            else:
                self._print_manifests(keep=keep)
            if keep:
                self._leave_running(local_aws, environment, region, clusters)
                return True
            if self._cluster:
                self._cluster.uninstall()
            self._destroy(environment, account, blank)
        return False

    def _start_aws(self, running: contextlib.ExitStack) -> Emulator:
        with self._steps.step("Local AWS") as step:
            step.update("starting ministack")
            emulator_ = Emulator(self._run_dir / "emulator.log", work_dir=self._run_dir / "emulator")
            running.enter_context(emulator_)
            # `doctor` compares the real account's quotas with the strategy.
            emulator_.set_quotas_raised(True)
            step.result = f"ministack on {emulator_.endpoint_url}"
        return emulator_

    def _synthesize(self, environment: Mapping[str, str], providers: terraform.Providers) -> str:
        """Synthesize the stack, and return its region."""
        with self._steps.step("Synthesize") as step:
            self._run_cdktf("synth", [], environment, step)
            document = self._document()
            self._check_provider(document, providers)
            region = self._region(document)
            step.result = f"{self._stack}, {region}"
        return region

    def _deploy(
        self, environment: Mapping[str, str], account: Account, blank: Mapping[str, frozenset[str]]
    ) -> list[ClusterFacts]:
        """Deploy the stack, and show the new clusters in the account."""
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
        self._console.print()
        return clusters

    def _destroy(self, environment: Mapping[str, str], account: Account, blank: Mapping[str, frozenset[str]]) -> None:
        with self._steps.step("Destroy") as step:
            progress = self._run_cdktf("destroy", [self._stack, *_APPLY], environment, step)
            step.result = f"{counted(progress.done, 'resource')} destroyed"
        with self._steps.step("Check") as step:
            step.update("looking for remaining resources")
            self._check_nothing_left(blank, account)
            step.result = "no resources remain"

    def _find_tools(self) -> tuple[tools.Tools, terraform.Providers]:
        with self._steps.step("Tools") as step:
            emulator.check_installed()  # before cdktf is downloaded
            if self._cluster:
                self._cluster.provide_programs(step)
            if demo_folder.is_own(self._root):
                step.update(f"installing cdktf in {self._root}, the first time only")
                demo_folder.install_cdktf(self._root)
            step.update("looking for python, node, terraform and cdktf")
            tools_found = tools.find_tools(self._root)
            step.update("looking for the AWS provider")
            providers = terraform.prepare(self._root)
            self._cdktf = tools_found.cdktf
            step.result = f"AWS provider from {providers.where}"
        return tools_found, providers

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
            message = "\n".join(terraform_output.errors(lines))
            empty = f"\n{_STARTS_EMPTY}" if command == "deploy" and " in data." in message else ""
            raise DemoError(f"cdktf {command} failed:\n{message}{empty}")
        return progress

    def _document(self) -> dict[str, object]:
        """Return the synthesized stack."""
        stacks = self._outdir / "stacks"
        file = stacks / self._stack / "cdk.tf.json"
        if not file.is_file():
            names = ", ".join(sorted(path.parent.name for path in stacks.glob("*/cdk.tf.json")))
            raise DemoError(f"unknown stack {self._stack}; known: {names or 'none'}")
        try:
            document: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DemoError(f"the stack {self._stack} is not valid JSON: {error}") from None
        return document

    def _check_provider(self, document: Mapping[str, Any], providers: terraform.Providers) -> None:
        """Check early that this machine's AWS provider is new enough for the stack."""
        required = document.get("terraform", {}).get("required_providers", {}).get("aws", {}).get("version", "")
        lowest = re.match(r"(?:>=|=)? ?([0-9.]+)", required)
        if providers.mirror and lowest and numbers(lowest[1]) > providers.mirror.version:
            reason = _provider_reason(self._named)
            fix = "remove that setting" if reason else "allow older versions with an override of required_providers.aws"
            raise DemoError(
                f"{self._stack} needs the AWS provider {required}{f' ({reason})' if reason else ''}, but the demo uses "
                f"{providers.where}; {fix}, or set {terraform.MIRROR_VARIABLE} to a mirror with a newer version"
            )

    def _region(self, document: Mapping[str, Any]) -> str:
        """Return the region of the synthesized stack."""
        try:
            return str(document["provider"]["aws"][0]["region"])
        except LookupError as error:
            raise DemoError(f"the stack {self._stack} has no AWS provider with a region") from error

    def _print_manifests(self, *, keep: bool) -> None:
        """Show the cluster's manifests, if the app wrote any."""
        folder = self._manifests
        if not (folder / RELEASES_FILE).is_file():
            return
        for part in describe_manifests(read_summary(folder)):
            self._console.print(part)
        self._console.print()
        name = shlex.quote(self._named)
        render = f"`eks-hardware render {name} --output FOLDER` writes the files."
        more = f"`eks-hardware demo {name} --cluster` installs them on a local Kubernetes, and runs workloads."
        for line in (f"In {self._shown(folder)}." if keep else render, more):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        self._console.print()

    @property
    def _manifests(self) -> Path:
        return self._outdir / "stacks" / self._stack / "kubernetes"

    def _outputs(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the string outputs of the deployed stack."""
        done = subprocess.run(
            [str(terraform.find_terraform(environment).path), "output", "-json"],
            cwd=self._outdir / "stacks" / self._stack,
            env=dict(environment),
            capture_output=True,
            check=False,
            encoding="utf-8",
        )
        if done.returncode:
            raise DemoError(f"terraform output failed:\n{done.stderr.strip()}")
        return {name: each["value"] for name, each in json.loads(done.stdout).items() if isinstance(each["value"], str)}

    def _check_nothing_left(self, before: Mapping[str, frozenset[str]], account: Account) -> None:
        left = left_over(before, account.inventory())
        remaining = [f"{kind} {name}" for kind, names in sorted(left.items()) for name in sorted(names)]
        for state in sorted(self._run_dir.glob("terraform.*.tfstate")):
            remaining += [
                f"{resource['type']}.{resource['name']} in the state"
                for resource in json.loads(state.read_text(encoding="utf-8")).get("resources", [])
                if resource.get("mode") == "managed"
            ]
        if remaining:
            raise DemoError("resources remain after cdktf destroy:\n" + "\n".join(remaining))

    def _shown(self, path: Path) -> str:
        """Return a path that the user can open: relative if the project is the working folder, otherwise absolute."""
        return os.path.relpath(path, self._root) if self._root == Path.cwd() else str(path.absolute())

    def _leave_running(
        self, local_aws: Emulator, environment: Mapping[str, str], region: str, clusters: list[ClusterFacts]
    ) -> None:
        # The cluster's programs end with this process, so this process keeps running.
        pid = os.getpid() if self._cluster else local_aws.pid
        kept = Kept(self._stack, pid, local_aws.port, local_aws.token, str(local_aws.work_dir))
        script = self._run_dir / "env.sh"
        text = environment_script(environment, region=region)
        if self._cluster:
            text += f"export KUBECONFIG={shlex.quote(str(self._cluster.kubeconfig))}\n"
        script.write_text(text, encoding="utf-8")
        atomic_files.replace(self._run_dir / _RECORD, (json.dumps(asdict(kept), indent=2) + "\n").encode())
        if not self._cluster:
            local_aws.detach()

        def relative(path: Path) -> str:
            return shlex.quote(os.path.relpath(path, self._root))

        name = clusters[0].name if clusters else self._stack
        program = os.environ.get(terraform.PROGRAM_VARIABLE) or terraform.find_terraform(environment).path.name
        outdir = relative(self._outdir)
        here = self._root == Path.cwd()
        for line in (
            f"The demo is still running. To inspect it, run{' in this folder' if here else ''}:",
            "",
            *([] if here else [f"  cd {shlex.quote(str(self._root))}"]),
            f"  . {relative(script)}",
            f"  aws eks describe-cluster --name {name}",
            f"  npx cdktf output {self._stack} --skip-synth --output {outdir}",
            f"  {shlex.quote(program)} -chdir={outdir}/stacks/{self._stack} state list",
            *self._reach_kubernetes(),
            "",
            "To stop it:",
            "",
            "  make demo-stop" if self._root == demo_folder.CHECKOUT else "  eks-hardware demo --stop",
        ):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        if self._stay:
            self._stay()

    def _reach_kubernetes(self) -> list[str]:
        """Return the instructions for kubectl."""
        if not self._cluster:
            return []
        return [
            "",
            "For kubectl or k9s alone:",
            "",
            f"  export KUBECONFIG={shlex.quote(str(self._cluster.kubeconfig))}",
            "  kubectl get nodes,pods --all-namespaces",
        ]


def _output(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the lines of a process's output, until the process closes it."""
    yield from map(terraform_output.plain, processes.lines(process))


def overlay_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that applies the emulator's overlay to every strategy, after the configured ones."""
    named = [name for name in read_environment(environ).overlays if name != _OVERLAY]
    return {OVERLAY_VARIABLE: ",".join([*named, _OVERLAY])}


def environment_script(environment: Mapping[str, str], *, region: str) -> str:
    """Return a shell script that connects AWS clients and Terraform to the emulator."""
    own = {
        name: value
        for name, value in environment.items()
        if name.startswith("AWS_") or name in ("NO_PROXY", "no_proxy", "TF_CLI_CONFIG_FILE", terraform.PROGRAM_VARIABLE)
    }
    own |= {"AWS_REGION": region, "AWS_DEFAULT_REGION": region}
    gone = sorted(name for name in os.environ if name.startswith("AWS_") and name not in own)
    return "".join(
        [f"unset {name}\n" for name in {"AWS_PROFILE": 0, **dict.fromkeys(gone)}]
        + [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(own.items())]
    )
