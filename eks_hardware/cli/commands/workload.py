"""``eks-hardware workload``: a manifest that fits the nodes of a strategy, without Terraform, Node or AWS."""

from __future__ import annotations

import shlex
from typing import Any

import click

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import exit_codes, fail_with, tell
from eks_hardware.cli.output import print_json

_KINDS = ("job", "deployment", "pytorchjob", "smoke-test")
_CHECKS = ("nvidia-smi", "neuron-ls", "efa", "nccl", "neuron-collective", "all")


@click.command(epilog=exit_codes("errors in the strategy"))
@parameters.strategy()
@parameters.overlays("the file")
@click.option(
    "--group",
    "--pool",
    required=True,
    metavar="NAME",
    shell_complete=completers.groups_and_pools,
    help="Node group or node pool to run on.",
)
@click.option("--kind", type=click.Choice(_KINDS), required=True, help="Kind of manifest.")
@click.option(
    "--nodes",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Pods of a job, one per node; replicas of a deployment.",
)
@click.option(
    "--accelerators",
    type=int,
    metavar="K",
    help="GPUs or Neuron devices per pod; default: 1 for a deployment, otherwise all on a node.",
)
@click.option("--image", help="Container image; default: a PyTorch image for the hardware.")
@click.option("--command", help="Command of the container, quoted as in a shell.")
@click.option("--port", type=int, metavar="N", help="Port of a deployment's server, for its Service and probe.")
@click.option("--env-from", metavar="SECRET", help="Secret whose keys become environment variables, such as HF_TOKEN.")
@click.option("--name", help="Name of the objects.")
@click.option("--namespace", help="Namespace of the objects.")
@click.option("--queue", help="Kueue queue, named after the hardware, such as nvidia-gpu.")
@click.option(
    "--check",
    "checks",
    type=click.Choice(_CHECKS),
    multiple=True,
    help="Smoke test to run; can be repeated. Default: all that apply.",
)
@click.option(
    "--independent",
    is_flag=True,
    help="Run a job's pods independently: no rendezvous, no EFA, and a failed pod does not end the others.",
)
@parameters.output_format(text="Output format; JSON is a List object.")
def workload(
    strategy: str, overlays: tuple[str, ...], command: str | None, checks: tuple[str, ...], format_: str, **fields: Any
) -> None:
    """Print a Kubernetes manifest with the node selector, tolerations and resources of a node group or pool.

    \b
    Examples:
      eks-hardware workload mixed-hardware --group gpu-training --kind smoke-test
      eks-hardware workload my-cluster.yaml --group training --kind job --nodes 4
      eks-hardware workload llm.yaml --group llm --kind deployment --port 8000
    """
    from eks_hardware.cli.checked_strategy import checked
    from eks_hardware.findings import Finding
    from eks_hardware.resolve import resolve
    from eks_hardware.workloads import CHECKS, Request, WorkloadError, manifest

    try:
        request = Request(
            command=_words(command),
            checks=() if "all" in checks else tuple(check for check in CHECKS if check in checks),
            **fields,
        )
        request.check()
        read = checked(strategy, overlays).strategy
        printed = manifest(read, resolve(read), request)
    except WorkloadError as problem:
        fail_with([Finding(problem.code, problem.option, problem.message)])
    for warning in printed.warnings:
        tell(f"warning: {warning}")
    if format_ == "json":
        print_json({"apiVersion": "v1", "kind": "List", "items": printed.objects})
    else:
        click.echo(printed.yaml, nl=False)


def _words(command: str | None) -> tuple[str, ...]:
    from eks_hardware.workloads import WorkloadError

    try:
        return tuple(shlex.split(command)) if command else ()
    except ValueError as error:
        message = f"{str(error).lower()}; quote it as in a shell"
        raise WorkloadError("WORKLOAD_COMMAND", "--command", message) from None
