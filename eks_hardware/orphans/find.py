"""Run every search, and add the commands that import or delete the resources found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.orphans import named, tagged
from eks_hardware.orphans.model import Found, Orphan, Report, Stack


def find(
    document: Mapping[str, object],
    state: Mapping[str, object],
    aws: Aws,
    *,
    strategy: str,
    region: str,
    folder: Path,
    program: str = "terraform",
    profile: str | None = None,
) -> Report:
    """Return the resources of a strategy that exist in the account but not in its stack's state.

    Args:
        document: the content of the stack's ``cdk.tf.json``.
        state: the output of ``terraform state pull`` in its folder; empty if there is no state.
        aws: the account.
        strategy: the strategy's name, which is the value of its tag.
        region: the strategy's region.
        folder: the stack's folder, for the commands.
        program: Terraform or OpenTofu, for the commands.
        profile: the profile, for the ``aws`` commands.

    Raises:
        AwsError: AWS cannot be queried.
    """
    caller = aws.caller()
    stack = Stack(document, state)
    found: list[Found] = []
    not_checked: list[str] = []
    for kind, search in _searches(stack, aws, strategy, region):
        try:
            found += search()
        except DeniedError as error:
            not_checked.append(f"{kind}: no permission for {error.permission}")
        except CallError as error:
            not_checked.append(f"{kind}: {error.action} failed: {error.code}")
    terraform = f"{program} -chdir={shlex.quote(str(folder))}"
    orphans = tuple(
        Orphan(orphan.kind, orphan.id, orphan.address, _commands(orphan, stack, terraform, profile)) for orphan in found
    )
    return Report(caller.account, region, orphans, tuple(not_checked))


def _searches(
    stack: Stack, aws: Aws, strategy: str, region: str
) -> Iterator[tuple[str, Callable[[], Iterator[Found]]]]:
    for resource_kind in named.KINDS:
        yield resource_kind.type, partial(named.look, resource_kind, stack, aws)
    for kind in tagged.KINDS:
        if stack.has(kind.type):
            yield kind.type, partial(tagged.look, kind, stack, aws, strategy, region)
    if stack.has("aws_kms_key"):
        yield "aws_kms_key", partial(tagged.keys, stack, aws, strategy, region)


def _commands(orphan: Found, stack: Stack, terraform: str, profile: str | None) -> tuple[str, ...]:
    if orphan.address:
        address = shlex.quote(orphan.address)
        first = (f"{terraform} state rm {address}",) if stack.id_of(orphan.address) else ()
        return (*first, f"{terraform} import {address} {shlex.quote(orphan.id)}")
    suffix = f" --profile {shlex.quote(profile)}" if profile else ""
    return tuple(f"{command}{suffix}" for command in orphan.delete)
