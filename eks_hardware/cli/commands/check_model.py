"""``eks-hardware check-model``: whether a model can move to Trainium, Inferentia or GPUs, and the changes needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.errors import FAILED, exit_codes, fail_with, refuse_unknown
from eks_hardware.cli.output import print_json

if TYPE_CHECKING:
    from eks_hardware.advisor.fitting.migration import Target
    from eks_hardware.advisor.model import Request


@click.command(epilog=exit_codes("the model cannot run on the hardware"))
@click.argument(
    "config", type=parameters.FILE, help="The model's Hugging Face config.json, or a public model such as llama-3.1-8b."
)
@click.option(
    "--target", type=click.Choice(["trainium", "inferentia", "gpu"]), required=True, help="Hardware to move to."
)
@click.option(
    "--task",
    type=click.Choice(["training", "inference"]),
    help="Default: training on Trainium, inference on other hardware.",
)
@click.option("--framework", metavar="NAME", help="Framework or server, such as pytorch-xla or vllm.")
@parameters.output_format(text="Output format; JSON includes every source.")
def check_model(config: Path, target: Target, task: str | None, framework: str | None, format_: str) -> None:
    """Check whether a model can run on other hardware, from its config.json or its name.

    The verdict is "yes", "with changes", "unknown" or "no".

    \b
    Examples:
      eks-hardware check-model llama/config.json --target trainium
      eks-hardware check-model qwen3-8b --target inferentia
    """
    from eks_hardware.advisor.fitting.migration import check_model as check
    from eks_hardware.cli.output import model_check

    task = task or ("training" if target == "trainium" else "inference")
    found = check(_request(config, task, framework), target)
    if format_ == "json":
        print_json(model_check.content(found))
    else:
        model_check.show(found)
    if found.verdict == "no":
        raise Exit(FAILED)


def _request(path: Path, task: str, framework: str | None) -> Request:
    """Return the request, or end the command for an unusable config.json or an unknown framework."""
    from eks_hardware.advisor.model import Request, ShapeError
    from eks_hardware.advisor.shapes.hf_config import read_hf_config
    from eks_hardware.advisor.shapes.public import MUST, shape_of_name
    from eks_hardware.findings import Finding
    from eks_hardware.models import WorkloadSpec
    from eks_hardware.models.needs import Framework
    from eks_hardware.models.workload import ModelShape

    refuse_unknown("--framework", framework, get_args(Framework))
    try:
        is_name = path.suffix != ".json" and not path.exists()
        shape = shape_of_name(str(path)) if is_name else read_hf_config(path)
    except ShapeError as error:
        message = error.message.replace(MUST, "must be a config.json or a public model", 1)
        fail_with([Finding(error.code, "CONFIG", message)])
    fields: Any = {"task": task, "framework": framework}
    # All purchasing options: the check ignores prices.
    fields |= {"purchase": ("on-demand", "spot", "capacity-block"), "interruptible": True}
    workload = WorkloadSpec(model=ModelShape(parameters=str(shape.parameters)), **fields)
    return Request(workload=workload, shape=shape, regions=())
