"""Throwing: a `Roll` and a source of randomness in, every die out, and the words for it.

A die is thrown again at most `MAX_AGAIN` times, rerolls and explosions together, counted for each die of the notation
with those that it set off. The bound is never met by an honest `1d6!` (once in 60 million) but ends a `100d2!` or
`1d1000!<1000` in time; a term where it was met says so. No call throws more than `MAX_DICE * (MAX_AGAIN + 1)` dice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from pegboard_dice._notation import Dice, Roll, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_dice._schema import RollData

MAX_AGAIN = 10


class Randomness(Protocol):
    """What `random.Random` and `secrets.SystemRandom` offer."""

    def randint(self, a: int, b: int, /) -> int:
        """A whole number from `a` to `b`, each as likely as the other."""
        ...


@attrs.define
class Die:
    """One throw of one die: what it shows, whether it counts, whether another was thrown for it or instead of it."""

    value: int
    kept: bool = True
    exploded: bool = False
    rerolled: bool = False


@attrs.frozen
class Thrown:
    """A term with its dice in the order they were thrown; `cut` where `MAX_AGAIN` ended it."""

    term: Term
    dice: tuple[Die, ...]
    cut: bool = False

    @property
    def kept(self) -> list[int]:
        """What the dice that count show."""
        return [die.value for die in self.dice if die.kept]

    @property
    def value(self) -> int:
        """What the term adds to the total, its sign included."""
        return self.term.sign * (sum(self.kept) if isinstance(self.term.what, Dice) else self.term.what)


@attrs.frozen
class Outcome:
    """A roll that was thrown."""

    roll: Roll
    thrown: tuple[Thrown, ...]

    @property
    def total(self) -> int:
        """The sum of the terms."""
        return sum(thrown.value for thrown in self.thrown)


def throw(roll: Roll, randomness: Randomness) -> Outcome:
    """Throw every die of the roll."""
    return Outcome(roll, tuple(_throw_term(term, randomness) for term in roll.terms))


def _throw_term(term: Term, randomness: Randomness) -> Thrown:
    if not isinstance(term.what, Dice):
        return Thrown(term, ())
    dice: list[Die] = []
    cut = False
    for _ in range(term.what.count):
        chain, chain_cut = _throw_die(term.what, randomness)
        dice += chain
        cut = cut or chain_cut
    _keep(term.what, dice)
    return Thrown(term, tuple(dice), cut)


def _throw_die(dice: Dice, randomness: Randomness) -> tuple[list[Die], bool]:
    """One die with what it sets off; true where it would have gone on."""
    low, high = dice.faces[0], dice.faces[-1]
    chain: list[Die] = []
    fresh = True  # not thrown instead of another one
    while True:
        die = Die(randomness.randint(low, high))
        chain.append(die)
        may_reroll = dice.reroll and (fresh or not dice.reroll_once)
        rerolls = may_reroll and dice.reroll and dice.reroll.meets(die.value)
        explodes = not rerolls and dice.explode and dice.explode.meets(die.value)
        if not (rerolls or explodes):
            return chain, False
        if len(chain) > MAX_AGAIN:
            return chain, True
        die.rerolled, die.exploded = bool(rerolls), bool(explodes)
        die.kept = not rerolls
        fresh = bool(explodes)


def _keep(dice: Dice, thrown: Sequence[Die]) -> None:
    """Mark the dice that `kh`, `kl`, `dh` or `dl` leave out; of equal ones, those that were thrown first stay."""
    if dice.keep is None:
        return
    pool = [die for die in thrown if die.kept]
    highest_first = dice.keep.how in ("kh", "dl")
    pool.sort(key=lambda die: -die.value if highest_first else die.value)
    kept = dice.keep.number if dice.keep.how in ("kh", "kl") else len(pool) - dice.keep.number
    for die in pool[kept:]:
        die.kept = False


# --- what a roll says


def text(outcome: Outcome) -> str:
    """`Rolled 4d6kh3: [6, 4, 3, 2] → kept [6, 4, 3] = **13**`; one die alone shows only the total."""
    dice = [die for thrown in outcome.thrown for die in thrown.dice]
    head = f"Rolled {outcome.roll}:"
    if len(dice) == 1:
        return f"{head} **{outcome.total}**"
    parts = " ".join(_part(thrown, first=not index) for index, thrown in enumerate(outcome.thrown))
    note = f" (a die is thrown again at most {MAX_AGAIN} times)" if any(t.cut for t in outcome.thrown) else ""
    return f"{head} {parts} = **{outcome.total}**{note}"


def _part(thrown: Thrown, *, first: bool) -> str:
    if not isinstance(thrown.term.what, Dice):
        shown = str(thrown.term.what)
    else:
        shown = str([die.value for die in thrown.dice])
        if not all(die.kept for die in thrown.dice):
            shown += f" → kept {thrown.kept}"
    sign = "-" if thrown.term.sign < 0 else "" if first else "+"
    return sign + shown


def data(outcome: Outcome) -> RollData:
    """The roll for programs."""
    return {
        "notation": str(outcome.roll),
        "total": outcome.total,
        "terms": [
            {
                "notation": str(thrown.term.what),
                "sign": thrown.term.sign,
                "value": thrown.value,
                "dice": [
                    {"value": die.value, "kept": die.kept, "exploded": die.exploded, "rerolled": die.rerolled}
                    for die in thrown.dice
                ],
                "cut": thrown.cut,
            }
            for thrown in outcome.thrown
        ],
    }
