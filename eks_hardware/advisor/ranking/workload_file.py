"""Read a workload from a file or from options into a request to the recommender."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from eks_hardware import field_paths
from eks_hardware.advisor.model import AccountQuotas, Request, ShapeError
from eks_hardware.advisor.ranking.quota_file import Codes, quotas_of_codes, read_quotas
from eks_hardware.advisor.recommend import unknown_of
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.catalogue import Hardware, load
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader import Document, load_document
from eks_hardware.models import WorkloadSpec
from eks_hardware.models.base import Text, invalid
from eks_hardware.models.strategy import Region
from eks_hardware.suggestions import question

DEFAULT_REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1")
"""Default regions: those with the most known prices of accelerators in the catalogue."""
OPTIONS_FILE = "<options>"
"""The file of findings about a workload from options."""


class WorkloadFile(WorkloadSpec):
    """A workload in a file of its own, and the regions where it can run."""

    version: Literal[1] = Field(description="Version of the format.")
    region: Region | None = Field(default=None, description="Region to run in.")
    regions: tuple[Region, ...] = Field(default=(), max_length=40, description="Regions to compare.")
    only: tuple[Text, ...] = Field(
        default=(),
        max_length=100,
        description="Families, accelerators, kinds of hardware or types to choose from, such as g6e, h100 or cpu.",
    )
    quotas: Text | Annotated[tuple[Text, ...], Field(min_length=1, max_length=40)] | Codes | None = Field(
        default=None,
        description="The account's vCPU quotas: files with output of `aws service-quotas list-service-quotas`, or a "
        "mapping of quota codes to vCPUs that applies in every region.",
    )

    @model_validator(mode="after")
    def _has_one_of_both(self) -> WorkloadFile:
        if self.region and self.regions:
            raise invalid("workload_regions", "must not be set together with 'region', got both; remove one", "regions")
        return self

    @property
    def places(self) -> tuple[str, ...]:
        """The regions to compare, each once."""
        regions = (self.region,) if self.region else self.regions
        return tuple(dict.fromkeys(regions)) or DEFAULT_REGIONS


def read_workload(
    source: Path | str, *, file: str = OPTIONS_FILE, defaults: Mapping[str, object] | None = None
) -> Document[WorkloadFile]:
    """Read a workload from a file, or from text that findings call ``file``; ``defaults`` apply to fields not set.

    Raises:
        StrategyError: with every finding, each with its line and column.
    """
    return load_document(source, WorkloadFile, file=file, defaults=defaults)


def request_of(document: Document[WorkloadFile], *, folder: Path | None = None) -> Request:
    """Return the request. Files that it names are relative to ``folder``, or to the working directory.

    Raises:
        StrategyError: REGION_UNKNOWN, FIELD_VALUE, or errors in the model's config.json or in a file of quotas.
    """
    asked = document.value
    if findings := [*_unknown_regions(document), *_unknown_hardware(document)]:
        raise StrategyError(findings)
    try:
        shape = shape_of(asked.model, folder=folder)
    except ShapeError as error:
        path = field_paths.below("model", error.field)
        raise StrategyError([Finding(error.code, path, error.message, position=document.source.locate(path))]) from None
    fields = asked.model_dump(exclude_unset=True, exclude={"version", "region", "regions", "only", "quotas"})
    workload = WorkloadSpec.model_validate(fields)
    return Request(workload=workload, shape=shape, regions=asked.places, quotas=_quotas(document, folder or Path()))


def _quotas(document: Document[WorkloadFile], folder: Path) -> AccountQuotas | None:
    quotas = document.value.quotas
    if quotas is None:
        return None
    if isinstance(quotas, dict):
        return quotas_of_codes(quotas, document.source, "quotas")
    return read_quotas(folder / file for file in ((quotas,) if isinstance(quotas, str) else quotas))


def _unknown_regions(document: Document[WorkloadFile]) -> Iterator[Finding]:
    asked, catalogue = document.value, load()
    given = [("region", asked.region)] if asked.region else []
    given += [(field_paths.item("regions", index), region) for index, region in enumerate(asked.regions)]
    for path, region in given:
        if region not in catalogue.regions:
            position = document.source.locate(path)
            yield Finding("REGION_UNKNOWN", path, catalogue.not_listed(region), position=position)


def _unknown_hardware(document: Document[WorkloadFile]) -> Iterator[Finding]:
    only = document.value.only
    for word, near in unknown_of(load(), only):
        kinds = ", ".join(each.value for each in Hardware if each is not Hardware.OTHER)
        hint = question(near) if near else f"kinds are {kinds}; `eks-hardware instances` lists the other names"
        path = field_paths.item("only", only.index(word))
        message = f"{word} is not a family, accelerator, kind of hardware or instance type in the catalogue; {hint}"
        yield Finding("FIELD_VALUE", path, message, position=document.source.locate(path))
