"""``eks-hardware workload``: a manifest that fits the nodes of a strategy, without Terraform, Node or AWS."""

from __future__ import annotations

import json
import shlex
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eks_hardware.models import Strategy
    from eks_hardware.workloads import Manifest, Request


class _Kind(str, Enum):
    JOB = "job"
    DEPLOYMENT = "deployment"
    PYTORCHJOB = "pytorchjob"
    SMOKE_TEST = "smoke-test"


class _Check(str, Enum):
    NVIDIA_SMI = "nvidia-smi"
    NEURON_LS = "neuron-ls"
    EFA = "efa"
    NCCL = "nccl"
    NEURON_COLLECTIVE = "neuron-collective"
    ALL = "all"


def workload(
    strategy: Annotated[str, typer.Argument(help="A strategy file, or the name of one that would become a stack.")],
    group: Annotated[
        str,
        typer.Option("--group", "--pool", help="Node group or node pool that it runs on.", show_default=False),
    ],
    kind: Annotated[_Kind, typer.Option("--kind", help="What to print.", show_default=False)],
    nodes: Annotated[int, typer.Option("--nodes", help="Pods of a job, each on a node; replicas.", metavar="N")] = 1,
    accelerators: Annotated[
        int | None,
        typer.Option(
            "--accelerators",
            help="GPUs or Neuron devices a pod: by default 1 for a deployment, else all of a node.",
            metavar="K",
        ),
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="Container image; by default one with PyTorch for the hardware.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", help="Command of the container, quoted as for a shell.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port of a deployment's server, for its probe.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the objects.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="Namespace of the objects.")] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", help="Queue of Kueue: the hardware's name, such as nvidia-gpu.")
    ] = None,
    check: Annotated[
        list[_Check] | None,
        typer.Option("--check", help="Smoke tests; may be repeated. By default all that fit."),
    ] = None,
    independent: Annotated[
        bool, typer.Option("--independent", help="Pods of a job do not talk: no rendezvous, no EFA, none ends another.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of the objects instead.")] = False,
) -> None:
    """Print a manifest with the selector, tolerations and resources of a node group or pool.

    Exit code 0: printed; 1: errors in the strategy; 2: wrong usage, or a workload that the nodes cannot run.
    """
    from eks_hardware.cli.strategies import checked
    from eks_hardware.workloads import CHECKS, Request, WorkloadError

    wanted = {each.value for each in check or ()}
    try:
        request = Request(
            kind=kind.value,
            group=group,
            nodes=nodes,
            accelerators=accelerators,
            image=image,
            command=_words(command),
            port=port,
            name=name,
            namespace=namespace,
            queue=queue,
            checks=() if "all" in wanted else tuple(each for each in CHECKS if each in wanted),
            independent=independent,
        )
        request.check()
        found = _made(checked(strategy).strategy, request)
    except WorkloadError as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2) from None
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(found.objects, indent=2, ensure_ascii=False))
    else:
        typer.echo(found.yaml, nl=False)


def _words(command: str | None) -> tuple[str, ...]:
    from eks_hardware.workloads import WorkloadError

    try:
        return tuple(shlex.split(command)) if command else ()
    except ValueError as error:
        message = f"{str(error).lower()}; quote it as for a shell"
        raise WorkloadError("WORKLOAD_COMMAND", "--command", message) from None


def _made(strategy: Strategy, request: Request) -> Manifest:
    from eks_hardware.resolve import resolve
    from eks_hardware.workloads import manifest

    return manifest(strategy, resolve(strategy), request)
