"""The network interfaces of a node with EFA, from the network cards of its type."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware.catalogue.model import EfaInterface, NetworkCard


def efa_layout(cards: Sequence[NetworkCard], maximum: int) -> tuple[EfaInterface, ...]:
    """Return the interfaces that give a node its full EFA bandwidth and one interface with an IP address.

    The primary interface (card 0, device 0) has an IP address and can never be ``efa-only``. Each card supports at most
    one EFA interface: next to the primary interface on card 0, and as the first device on other cards. If card 0
    supports a single interface, the primary interface must be of type ``efa``.

    Args:
        cards: the type's network cards, by index.
        maximum: maximum EFA interfaces of the type; 0 without EFA.

    Returns:
        The interfaces, primary first; empty for a type without EFA.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    if not maximum:
        return ()
    primary, *others = cards
    if primary.supports_efa and primary.max_interfaces == 1:
        layout = [EfaInterface(primary.index, 0, "efa")]
    elif primary.supports_efa:
        layout = [EfaInterface(primary.index, 0, "interface"), EfaInterface(primary.index, 1, "efa-only")]
    else:
        layout = [EfaInterface(primary.index, 0, "interface")]
    room = maximum - primary.supports_efa
    layout += [EfaInterface(card.index, 0, "efa-only") for card in others if card.supports_efa][:room]
    return tuple(layout)


def efa_count(layout: Sequence[EfaInterface]) -> int:
    """Return the number of interfaces of a layout that support EFA traffic."""
    return sum(efa_interface.is_efa for efa_interface in layout)


def address_count(layout: Sequence[EfaInterface]) -> int:
    """Return the number of interfaces with an IP address of a node with this layout; 1 without a layout."""
    return max(1, sum(efa_interface.interface_type != "efa-only" for efa_interface in layout))
