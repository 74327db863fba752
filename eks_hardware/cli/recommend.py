"""``eks-hardware recommend``: which hardware suits a workload, why, and a strategy with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from eks_hardware.advisor.model import Candidate, Recommendation, Request
    from eks_hardware.findings import Finding, StrategyError

# Field of a workload file -> option, where it is not the field's own name.
_OPTIONS = {
    "model": "--model",
    "model.parameters": "--model",
    "context_length": "--context",
    "concurrent_sequences": "--concurrency",
    "latency": "--latency-...",
    "latency.first_token_ms": "--latency-first-token-ms",
    "latency.per_token_ms": "--latency-per-token-ms",
    "region": "--region",
    "regions": "--region",
}
# What messages about a file say, in the words of the command line.
_WORDS = {
    "'parameters'": "--model",
    "'hf_config'": "--hf-config",
    "interruptible: true": "--interruptible",
    "method: qlora": "--method qlora",
    "remove it": "leave it out",
}
_MODEL = "Model"
_WORK = "Work"
_WHERE = "Where, and how it is bought"
_OUTPUT = "Output"


def recommend(
    task: Annotated[
        str | None, typer.Option(help="training, fine-tuning, inference or development.", rich_help_panel=_WORK)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Parameters: 8B, 350M, 8030261248.", metavar="SIZE", rich_help_panel=_MODEL)
    ] = None,
    hf_config: Annotated[
        Path | None,
        typer.Option(help="A Hugging Face config.json instead, or beside it.", rich_help_panel=_MODEL),
    ] = None,
    active_parameters: Annotated[
        str | None,
        typer.Option(help="Parameters that a token uses (experts).", metavar="SIZE", rich_help_panel=_MODEL),
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(help="Model type: llama, qwen2, bert.", rich_help_panel=_MODEL)
    ] = None,
    layers: Annotated[int | None, typer.Option(help="Layers.", rich_help_panel=_MODEL)] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Hidden size.", rich_help_panel=_MODEL)] = None,
    attention_heads: Annotated[int | None, typer.Option(help="Attention heads.", rich_help_panel=_MODEL)] = None,
    kv_heads: Annotated[int | None, typer.Option(help="Heads of keys and values.", rich_help_panel=_MODEL)] = None,
    head_dim: Annotated[int | None, typer.Option(help="Size of a head.", rich_help_panel=_MODEL)] = None,
    method: Annotated[str | None, typer.Option(help="Fine-tuning: full, lora or qlora.", rich_help_panel=_WORK)] = None,
    serving: Annotated[str | None, typer.Option(help="Inference: real-time or batch.", rich_help_panel=_WORK)] = None,
    precision: Annotated[
        str | None, typer.Option(help="Weights: fp32, bf16, fp16, fp8, int8, int4.", rich_help_panel=_WORK)
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Inference: tokens of question and answer.", rich_help_panel=_WORK)
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Inference: requests at once, of a replica.", rich_help_panel=_WORK)
    ] = None,
    latency_first_token_ms: Annotated[
        int | None, typer.Option(help="Inference: most ms to the first token.", rich_help_panel=_WORK)
    ] = None,
    latency_per_token_ms: Annotated[
        float | None, typer.Option(help="Inference: most ms for each further token.", rich_help_panel=_WORK)
    ] = None,
    focus: Annotated[str | None, typer.Option(help="Inference: throughput or latency.", rich_help_panel=_WORK)] = None,
    sequence_length: Annotated[
        int | None, typer.Option(help="Training: tokens of a sequence.", rich_help_panel=_WORK)
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Training: sequences of a device at once.", rich_help_panel=_WORK)
    ] = None,
    training_tokens: Annotated[
        str | None,
        typer.Option(help="Training: tokens of the run, as 100B.", metavar="COUNT", rich_help_panel=_WORK),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(help="Training: adamw, adamw-8bit, sgd, sgd-momentum.", rich_help_panel=_WORK),
    ] = None,
    sharding: Annotated[
        str | None, typer.Option(help="Training: none, zero-1, zero-2 or zero-3.", rich_help_panel=_WORK)
    ] = None,
    activation_checkpointing: Annotated[
        bool | None,
        typer.Option(
            "--activation-checkpointing/--no-activation-checkpointing",
            help="Training: compute activations again.",
            show_default="on",
            rich_help_panel=_WORK,
        ),
    ] = None,
    framework: Annotated[
        str | None, typer.Option(help="pytorch, pytorch-xla, vllm, tgi, jax, ...", rich_help_panel=_WORK)
    ] = None,
    attention: Annotated[
        str | None, typer.Option(help="Attention kernel: flash-attention-2, ...", rich_help_panel=_WORK)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="cost, balanced or performance.", show_default="balanced", rich_help_panel=_WHERE),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(help="Region; may be repeated. Default: five are compared.", rich_help_panel=_WHERE),
    ] = None,
    purchase: Annotated[
        list[str] | None,
        typer.Option(
            help="on-demand, spot, reserved, capacity-block; may be repeated.",
            show_default="on-demand",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    interruptible: Annotated[
        bool | None,
        typer.Option("--interruptible", help="The work survives losing a node; spot needs it.", rich_help_panel=_WHERE),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these families, accelerators or types: g6e, h100; may be repeated.", rich_help_panel=_WHERE
        ),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option("--from", help="A file with all of this; options go before it.", rich_help_panel=_WORK),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="Families to show.", rich_help_panel=_OUTPUT)] = 5,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every reason, and the parts of each score.", rich_help_panel=_OUTPUT)
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with everything.", rich_help_panel=_OUTPUT)
    ] = False,
    write: Annotated[
        Path | None, typer.Option(help="Write a strategy with the best one.", rich_help_panel=_OUTPUT)
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of that strategy; default: of its file.", rich_help_panel=_OUTPUT)
    ] = None,
    pick: Annotated[int, typer.Option(min=1, help="Which one of the table to write.", rich_help_panel=_OUTPUT)] = 1,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.", rich_help_panel=_OUTPUT)] = False,
) -> None:
    """Choose the hardware for a model: what fits, what it costs, and why the rest does not.

    Exit code 0; 1 where nothing fits, with what comes nearest, or for errors in a file; 2 for wrong usage.
    """
    said: dict[str, Any] = {
        "task": task,
        "model": {
            "parameters": model,
            "hf_config": None if hf_config is None else str(hf_config),
            "active_parameters": active_parameters,
            "architecture": architecture,
            "layers": layers,
            "hidden_size": hidden_size,
            "attention_heads": attention_heads,
            "kv_heads": kv_heads,
            "head_dim": head_dim,
        },
        "method": method,
        "serving": serving,
        "precision": precision,
        "context_length": context,
        "concurrent_sequences": concurrency,
        "latency": {"first_token_ms": latency_first_token_ms, "per_token_ms": latency_per_token_ms},
        "focus": focus,
        "sequence_length": sequence_length,
        "batch_size": batch_size,
        "training_tokens": training_tokens,
        "optimizer": optimizer,
        "sharding": sharding,
        "activation_checkpointing": activation_checkpointing,
        "framework": framework,
        "attention": attention,
        "budget": budget,
        "regions": region,
        "purchase": purchase,
        "interruptible": interruptible,
    }
    from eks_hardware.advisor.recommend import recommend

    _refuse_vain(write, name, pick, force)
    request = _request(_said(said), from_file)
    _refuse_unknown(only or ())
    found = recommend(request, only=tuple(only or ()))
    # First, so that it is there whoever stops reading, and a wrong name or number is not found below a long table.
    chosen = _write(found, write, name, pick, force) if write and found.candidates else None
    _show(found, top=top, explain=explain, as_json=as_json, written=write is not None)
    if not found.candidates:
        raise typer.Exit(1)
    if write and chosen:
        from eks_hardware.advisor.strategies.write import name_of

        _say_written(write, name or name_of(write), chosen)


# --- what is asked


def _said(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        given = _said(value) if isinstance(value, Mapping) else value
        if given not in (None, {}):
            found[name] = given
    return found


def _request(said: dict[str, Any], file: Path | None) -> Request:
    from eks_hardware.advisor.ranking.workload_file import read_workload, request_of
    from eks_hardware.findings import StrategyError

    folder = file.parent if file else None
    try:
        document = read_workload(file) if file else None
        if document and not said:
            return request_of(document, folder=folder)
    except StrategyError as error:
        _stop_for(error)
    _refuse_unknown_regions(said.get("regions", ()))
    if document is None and "task" not in said:
        _refuse("say what is to run: --task and --model, or --from FILE; --help has the rest")
    if document is None and "model" not in said:
        _refuse("--model: say how large the model is, such as 8B, or give --hf-config")
    before = document.value.model_dump(mode="json", exclude_unset=True) if document else {"version": 1}
    if "regions" in said:
        before.pop("region", None)
    if file and "hf_config" in said.get("model", {}):
        said["model"]["hf_config"] = str(Path(said["model"]["hf_config"]).absolute())
    try:
        return request_of(read_workload(json.dumps(_merged(before, said))), folder=folder)
    except StrategyError as error:
        if any(each.code.startswith("HF_CONFIG") for each in error.findings):
            _stop_for_options(error, 1)
        _stop_for_options(error, 2)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged


def _refuse_vain(write: Path | None, name: str | None, pick: int, force: bool) -> None:
    """End before the work where its result could not be written."""
    if write is None and (name or pick > 1 or force):
        option = "--name" if name else "--pick" if pick > 1 else "--force"
        _refuse(f"{option} goes with --write FILE")


def _refuse_unknown_regions(regions: Sequence[str]) -> None:
    from eks_hardware.advisor.ranking.workload_file import unknown_region

    for region in regions:
        if message := unknown_region(region):
            _refuse(f"REGION_UNKNOWN --region: {message}")


def _refuse_unknown(only: Sequence[str]) -> None:
    from eks_hardware.advisor.recommend import unknown_of
    from eks_hardware.catalogue import load

    for word, near in unknown_of(load(), only):
        hint = f"did you mean {' or '.join(near)}?" if near else "see `eks-hardware instances`"
        _refuse(f"--only: {word} is no family, accelerator or instance type of the catalogue; {hint}")


# --- what is answered


def _show(found: Recommendation, *, top: int, explain: bool, as_json: bool, written: bool) -> None:
    from eks_hardware.cli import recommend_output

    if as_json:
        typer.echo(json.dumps(recommend_output.content(found), indent=2, ensure_ascii=False))
    else:
        recommend_output.show(found, top=top, explain=explain, written=written)


def _write(found: Recommendation, file: Path, name: str | None, pick: int, force: bool) -> Candidate:
    from dataclasses import replace

    from eks_hardware.advisor.recommend import best_of_families
    from eks_hardware.advisor.strategies.write import WriteError, name_of, strategy_yaml, write_new

    shown = best_of_families(found.candidates)
    if pick > len(shown):
        _refuse(f"--pick {pick}: there are {len(shown)}")
    chosen = shown[pick - 1]
    # Other sizes of what is picked stay behind, for a group that takes several types.
    rest = [each for each in found.candidates if each not in shown]
    try:
        text = strategy_yaml(replace(found, candidates=(*shown, *rest)), name=name or name_of(file), candidate=pick - 1)
        write_new(file, text, force=force)
    except WriteError as error:
        _refuse(str(error))
    return chosen


def _say_written(file: Path, name: str, chosen: Candidate) -> None:
    import shlex

    nodes = f"{chosen.fit.nodes} x " if chosen.fit.nodes > 1 else ""
    path = shlex.quote(str(file))
    typer.echo(f"\nWrote {file}: {nodes}{chosen.fit.kind.name} in {chosen.region}.", err=True)
    typer.echo(f"Next: eks-hardware validate {path}", err=True)
    typer.echo(f"      EKS_HARDWARE_STRATEGIES={path} npx cdktf deploy {name}", err=True)


# --- errors


def _stop_for(error: StrategyError) -> NoReturn:
    from eks_hardware.validation.terminal import as_text

    typer.echo(as_text(error.findings), err=True)
    raise typer.Exit(1)


def _stop_for_options(error: StrategyError, code: int) -> NoReturn:
    for finding in error.findings:
        typer.echo(f"error: {_in_options(finding)}", err=True)
    raise typer.Exit(code)


def _in_options(finding: Finding) -> str:
    """A finding about a workload in the words of the options that it was made of."""
    field = finding.path.partition("[")[0]
    option = _OPTIONS.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")
    message = finding.message
    for words, instead in _WORDS.items():
        message = message.replace(words, instead)
    return f"{finding.code} {option}: {message}"


def _refuse(message: str) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)
