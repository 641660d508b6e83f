"""Which way a setting is stricter: the orders that `setting(stricter=...)` knows, each with the question whether one
value is looser than another.

A file that was discovered but not trusted may say such a setting the stricter way alone. `None` means no limit;
a value that cannot be compared counts as looser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pegboard.tools import RateLimit

if TYPE_CHECKING:
    from collections.abc import Callable

Order = Literal["lower", "higher", "true", "false", "more", "fewer", "rate"] | tuple[str, ...]
"""`lower` and `higher` are of numbers, `true` and `false` of booleans, `more` (of what is denied) and `fewer` (of what
is allowed) of lists, `rate` of texts such as `10/minute`; a tuple has the words of a choice, the loosest first."""


def looser(order: Order) -> Callable[[Any, Any], bool]:
    """The function `is_looser(value, otherwise)` of an order.

    Raises:
        ValueError: there is no such order.
    """
    if isinstance(order, tuple):
        return lambda value, otherwise: order.index(value) < order.index(otherwise)
    try:
        return _ORDERS[order]
    except KeyError:
        raise ValueError(f"stricter: expected one of {', '.join(_ORDERS)} or a tuple of words, got {order!r}") from None


def _is_higher(value: float | None, otherwise: float | None) -> bool:
    """An upper bound is raised or removed."""
    return otherwise is not None and (value is None or value > otherwise)


def _is_lower(value: float | None, otherwise: float | None) -> bool:
    """A lower bound, such as a pause between calls, is lowered or removed."""
    return (value or 0) < (otherwise or 0)


def _is_faster(value: Any, otherwise: Any) -> bool:
    """A rate allows `count` calls at once, then `count` a period: the stricter one is below in both."""
    if otherwise is None or value is None:
        return otherwise is not None
    rate, before = RateLimit.parse(value), RateLimit.parse(otherwise)
    return rate.count > before.count or rate.count * before.period_s > before.count * rate.period_s


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "lower": _is_higher,
    "higher": _is_lower,
    "true": lambda value, otherwise: bool(otherwise) and not value,
    "false": lambda value, otherwise: bool(value) and not otherwise,
    "more": lambda value, otherwise: not set(otherwise or ()) <= set(value or ()),
    "fewer": lambda value, otherwise: not set(value or ()) <= set(otherwise or ()),
    "rate": _is_faster,
}


def strictest_rate(*rates: RateLimit | None) -> RateLimit | None:
    """One rate that allows nothing that any of these does not; None where none is given."""
    given = [rate for rate in rates if rate is not None]
    slowest = min(given, key=lambda rate: rate.count / rate.period_s, default=None)
    if slowest is None:
        return None
    count = min(rate.count for rate in given)
    # 1000 a day are slower than 10 a minute, and may come all at once: the burst is the other's, the pace its own.
    return slowest if count == slowest.count else RateLimit(count, slowest.period_s * count / slowest.count)


def least(*values: Any) -> Any:
    """The lowest bound that is given, or None."""
    return min((value for value in values if value is not None), default=None)


def most(*values: Any) -> Any:
    """The highest pause that is given, or None."""
    return max((value for value in values if value), default=None)
