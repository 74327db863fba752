"""The spending limit of a first strategy, and the hardware that it allows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from eks_hardware.cli.cluster_settings import NONE, accepted
from eks_hardware.cli.errors import tell
from eks_hardware.cli.parameters import refuse_pick_above
from eks_hardware.cli.questions import WrongAnswerError, ask, read_option
from eks_hardware.printable import joined, quoted

if TYPE_CHECKING:
    from eks_hardware.advisor.strategies.strategy_text import Settings
    from eks_hardware.cost import StrategyCost

OPTION = "--max-usd-per-month"
# Commas only between thousands: in many countries, 1000,50 is an amount with a decimal comma, and not 100050.
_AMOUNT = re.compile(r"\$?((?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d{1,2})?)")


@dataclass(frozen=True)
class Offer:
    """Hardware to choose: its name, and a function from the strategy's name and settings to the strategy's text."""

    name: str
    text: Callable[[str, Settings], str]

    @property
    def usd_per_month(self) -> float:
        """The monthly cost of the cluster at its maximum size, as far as prices are known."""
        return self._cost.usd_per_month("max")

    @property
    def at_most(self) -> float | None:
        """Upper bound of the monthly cost at maximum size; None if it has no known bound."""
        from eks_hardware.cost import HOURS_PER_MONTH

        bound = self._cost.usd_per_hour_at_most("max")
        return None if bound is None else bound * HOURS_PER_MONTH

    @property
    def in_words(self) -> str:
        """The monthly cost at maximum size: one amount, or its bounds and the items without a price."""
        from eks_hardware.cost import HOURS_PER_MONTH

        amount = self._cost.in_words("max", lambda usd: f"{_usd(usd)} USD", hours=HOURS_PER_MONTH)
        unknown = [", ".join(line.unpriced) or line.name for line in self._cost.unknown("max")]
        why = f" (no price for {joined(unknown, 'and')})" if unknown else ""
        return f"{amount} a month at maximum size{why}"

    @cached_property
    def _cost(self) -> StrategyCost:
        from eks_hardware.advisor.strategies.strategy_text import Settings
        from eks_hardware.cost import cost_of
        from eks_hardware.loader import parse_strategy
        from eks_hardware.resolve import resolve

        # The name and the settings do not change the cost.
        strategy = parse_strategy(self.text("cluster", Settings(public_cidrs=()))).strategy
        return cost_of(resolve(strategy))


def limit_and_number(
    text: str | None, offers: Sequence[Offer], pick: int | None, region: str, *, asks: bool
) -> tuple[float | None, int]:
    """Return the spending limit and the number of the chosen hardware; ask for those that no option sets.

    The cost with the chosen hardware is never above the limit.
    """
    if pick is not None:
        refuse_pick_above(len(offers), pick)
    limit = _limit(text, offers if pick is None else offers[pick - 1 : pick], region, asks=asks)
    return limit, pick or _number(offers, limit, asks=asks)


# --- the limit


def amount_of_option(text: str) -> float | None:
    """Return the amount of the option; None for no limit."""
    return read_option(OPTION, text, _amount)


def _limit(text: str | None, offers: Sequence[Offer], region: str, *, asks: bool) -> float | None:
    def read(answer: str) -> float | None:
        return _sufficient_amount(answer, offers, region)

    if text is not None:
        return read_option(OPTION, text, read)
    return ask("Spending limit in USD a month at maximum size", NONE, read) if asks else None


def _amount(text: str) -> float | None:
    if text == NONE:
        return None
    if match := _AMOUNT.fullmatch(text.removesuffix("USD").strip()):
        return float(match[1].replace(",", ""))
    raise WrongAnswerError(f"must be a number of US dollars such as 5000, or {NONE}, got {quoted(text)}")


def _sufficient_amount(text: str, offers: Sequence[Offer], region: str) -> float | None:
    """Return the amount in an answer if it is enough for an offer; None for no limit."""
    from eks_hardware.advisor.strategies.strategy_text import Settings

    amount = _amount(text)
    if amount is None:
        return None
    bounds = {each.at_most: each for each in offers if each.at_most is not None}
    if not bounds:
        raise WrongAnswerError(
            f"must be {NONE}, because the cost with {offers[0].name} has no known upper bound, got {text}: the cost is "
            f"{offers[0].in_words}; set a budget in the file when you know the price"
        )
    lowest = min(bounds)
    if amount < lowest:
        cheapest = ", the cheapest of these types" if len(offers) > 1 else ""
        raise WrongAnswerError(
            f"must be at least {_usd(lowest)}, the monthly cost at maximum size with "
            f"{bounds[lowest].name}{cheapest}, got {text}; raise the limit, choose cheaper hardware, or use {NONE} and "
            "lower scaling.max in the file"
        )
    accepted(Settings(public_cidrs=(), max_usd_per_month=amount), region)
    return amount


# --- the hardware


def _number(offers: Sequence[Offer], limit: float | None, *, asks: bool) -> int:
    """Return the number of the first hardware within the limit, or the one that the user chooses."""

    def fault(number: int) -> str:
        each = offers[number - 1]
        if limit is None or (each.at_most is not None and each.at_most <= limit):
            return ""
        over = "over" if each.usd_per_month > limit or each.at_most is not None else "which may be over"
        return f"with {each.name}, the cluster costs {each.in_words}, {over} the spending limit of {_usd(limit)} USD"

    numbers = range(1, len(offers) + 1)
    within = [str(each) for each in numbers if not fault(each)]

    def read(answer: str) -> int:
        if answer not in map(str, numbers):
            raise WrongAnswerError(f"must be a number from 1 to {len(offers)}, got {quoted(answer)}")
        if answer not in within:
            raise WrongAnswerError(f"must be {joined(within, 'or')}, got {answer}: {fault(int(answer))}")
        return int(answer)

    if over := fault(1):
        tell(f"Number {within[0]} is the first within the spending limit: {over}.")
    return ask(f"Hardware (1 to {len(offers)})", within[0], read) if asks and len(offers) > 1 else int(within[0])


def _usd(amount: float) -> str:
    """Return an amount in whole dollars, rounded up, so that a limit of this amount is enough."""
    return f"{math.ceil(amount):,}"
