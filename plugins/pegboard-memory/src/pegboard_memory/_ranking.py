"""Two orders become one, and ranks become scores. Numbers in, numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RRF_K = 60
"""The constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. It decides how much the first
places count against the later ones."""

BANDS = 4
"""How a memory was found, from worst to best: scraps, parts, some words, all words."""


def band_score(band: int, strength: float) -> float:
    """The score of a hit by its text: any hit of a better band is above all of a worse one.

    Args:
        band: 0 to `BANDS` - 1.
        strength: how well it fits within the band, from 0 on without an end.
    """
    return (band + strength / (1 + strength)) / BANDS


def fuse(orders: Iterable[Sequence[int]], k: int = RRF_K) -> list[tuple[int, float]]:
    """Merge several orders of the same things by reciprocal rank fusion: the best first, each with its score, which is
    1 for what is first in every order. Ties keep the first order."""
    sums: dict[int, float] = {}
    orders = list(orders)
    for order in orders:
        for rank, key in enumerate(order, 1):
            sums[key] = sums.get(key, 0.0) + 1 / (k + rank)
    best = len(orders) / (k + 1)
    return [(key, value / best) for key, value in sorted(sums.items(), key=lambda item: -item[1])]
