"""A strategy's chart as a release: derived values, merged with those of the strategy."""

from __future__ import annotations

from collections.abc import Mapping

from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.resolve.mappings import merged


def chart_release(
    resolved: ResolvedStrategy,
    key: str,
    values: Mapping[str, object],
    *,
    after: tuple[str, ...] = (),
    waits_for_addons: bool = True,
    timeout_seconds: int = 600,
) -> ChartRelease:
    """Return the release of a chart of the strategy, named after the chart's key."""
    chart = resolved.kubernetes.charts[key]
    return ChartRelease(
        name=key,
        namespace=chart.namespace,
        after=after,
        waits_for_addons=waits_for_addons,
        timeout_seconds=timeout_seconds,
        key=key,
        chart=chart.chart,
        repository=chart.repository,
        version=chart.version,
        values=merged(values, chart.values),
    )
