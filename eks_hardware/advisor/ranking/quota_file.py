"""Read an account's quotas: output of ``aws service-quotas list-service-quotas``, or quota codes with their vCPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

from eks_hardware import field_paths
from eks_hardware.advisor.model import AccountQuotas
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import Document, SourceMap
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.documents import Attempt
from eks_hardware.loader.yaml_document import parse
from eks_hardware.loader.yaml_files import display_name, read_text
from eks_hardware.models.base import StrategyModel, Text
from eks_hardware.models.text_patterns import pattern
from eks_hardware.printable import joined, number, quoted
from eks_hardware.quotas import vcpu_quota_names
from eks_hardware.suggestions import close, question

COMMAND = "aws service-quotas list-service-quotas --service-code ec2 --output json"
"""The command whose output is a valid quota file."""
_AWS = "Quotas"
_ARN = r"^arn:[a-z0-9-]+:servicequotas:([a-z0-9-]*):[0-9]*:([a-z0-9.-]+)/.+$"
_EXAMPLE = "arn:aws:servicequotas:us-east-1:111122223333:ec2/L-417A185B"

Vcpus = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Codes = Annotated[dict[Text, Vcpus], Field(min_length=1, max_length=200)]
"""Quota codes with their vCPUs, which apply in every region."""


class _Quota(StrategyModel):
    """A quota in a response of the Service Quotas API. Other fields are ignored.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_ServiceQuota.html
    """

    model_config = ConfigDict(extra="ignore")

    code: str = Field(alias="QuotaCode")
    arn: Annotated[str, pattern(_ARN, f"the ARN of a quota such as {_EXAMPLE}")] = Field(alias="QuotaArn")
    value: float | None = Field(default=None, alias="Value")

    def part(self, number: int) -> str:
        """Return a group of the pattern: 1 for the region, 2 for the service."""
        found = re.match(_ARN, self.arn)
        return found.group(number) if found else ""


class _AwsFile(StrategyModel):
    """The output of ``aws service-quotas list-service-quotas``."""

    model_config = ConfigDict(extra="ignore")

    quotas: tuple[_Quota, ...] = Field(alias=_AWS)


class _OwnFile(StrategyModel):
    """A file with only a mapping of codes, in the format of a workload file's ``quotas``."""

    quotas: Codes


def read_quotas(files: Iterable[Path]) -> AccountQuotas:
    """Return the quotas in the files. Each file can have one or more regions.

    Raises:
        StrategyError: with every finding of the first invalid file, or FIELD_VALUE if a quota has two values.
    """
    by_region: dict[str | None, dict[str, float]] = {}
    origins: dict[tuple[str | None, str], str] = {}
    for path in files:
        file = display_name(path)
        for region, values in _regions(path, file).items():
            for code, value in values.items():
                before = by_region.setdefault(region, {}).setdefault(code, value)
                if before != value:
                    raise _two_values(file, origins[region, code], f"{code} in {region or 'all regions'}")
                origins.setdefault((region, code), file)
    return AccountQuotas(by_region=by_region)


def quotas_of_codes(codes: Mapping[str, float], source: SourceMap, path: str) -> AccountQuotas:
    """Return the quotas of a mapping at ``path`` of a file: vCPUs by code, in every region.

    Raises:
        StrategyError: FIELD_VALUE for a code that is not a vCPU quota.
    """
    if findings := list(_unknown_codes(codes, source, path)):
        raise StrategyError(findings)
    return AccountQuotas(by_region={None: codes})


def _regions(path: Path, file: str) -> Mapping[str | None, Mapping[str, float]]:
    """Return the vCPUs of each quota code in a file, by region."""
    fix = f"write the output of `{COMMAND}` into it"
    parsed = parse(read_text(path, file), file, fix=fix)
    root = parsed.root
    if root is not None and not parsed.findings and root.get(_AWS) is None:
        root = yn.Mapping({"quotas": yn.Entry(root.position, root)}, root.position)
        own = Attempt[_OwnFile](file, path, root)
        own.validate(_OwnFile)
        if own.document is None:
            raise StrategyError(own.ordered())
        return quotas_of_codes(own.document.value.quotas, own.document.source, "quotas").by_region
    listed = Attempt[_AwsFile](file, path)
    listed.take(parsed)
    listed.validate(_AwsFile)
    if listed.document is None:
        raise StrategyError(listed.ordered())
    return _of_aws(listed.document)


def _of_aws(document: Document[_AwsFile]) -> dict[str | None, dict[str, float]]:
    names = vcpu_quota_names()
    by_region: dict[str | None, dict[str, float]] = {}
    for path, quota in field_paths.items(_AWS, document.value.quotas):
        if quota.part(2) != "ec2" or quota.code not in names or quota.value is None:
            continue
        if quota.value < 0:
            where = field_paths.below(path, "Value")
            message = f"must be at least 0, got {number(quota.value)}; write the output of `{COMMAND}` again"
            raise StrategyError([Finding("FIELD_RANGE", where, message, position=document.source.locate(where))])
        by_region.setdefault(quota.part(1), {})[quota.code] = quota.value
    if not by_region:
        services = sorted({quota.part(2) for quota in document.value.quotas})
        given = f"those of {joined([quoted(service) for service in services], 'and')}" if services else "none"
        message = f"must have vCPU quotas of EC2 instances, got {given}; write the output of `{COMMAND}`"
        raise StrategyError([Finding("FIELD_VALUE", _AWS, message, position=document.source.locate(_AWS))])
    return by_region


def _unknown_codes(codes: Iterable[str], source: SourceMap, path: str) -> Iterator[Finding]:
    names = vcpu_quota_names()
    for code in codes:
        if code not in names:
            near = close(code, names)
            hint = question(near) if near else f"`{COMMAND}` lists them"
            message = f"must be the code of a vCPU quota of EC2 instances, got {quoted(code)}; {hint}"
            where = field_paths.below(path, code)
            yield Finding("FIELD_VALUE", where, message, position=source.locate(where))


def _two_values(file: str, other: str, which: str) -> StrategyError:
    message = f"{file} and {other} must not set different values for {which}; remove one of them"
    return StrategyError([Finding("FIELD_VALUE", "", message)])
