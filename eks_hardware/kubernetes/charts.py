"""Charts of a strategy as releases, with the derived values merged with the strategy's own values."""

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
    """Return the release of a strategy's chart, named after the chart's key."""
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
