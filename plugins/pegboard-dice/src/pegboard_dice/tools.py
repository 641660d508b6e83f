"""The tool: notation in, a source of randomness around, a result out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pegboard import CallContext, Example, Tool, ToolResult, tool
from pegboard_dice._schema import RollData

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pegboard_dice._throwing import Randomness


def make_tools(randomness: Callable[[Any], Randomness] | None = None) -> tuple[Tool, ...]:
    """Make `roll_dice`.

    Args:
        randomness: gives a session its source of randomness; None for the operating system's.

    .. versionadded:: 0.1
    """

    # In place: it computes and waits for nothing, and 1,100 throws are the most there can be.
    @tool(
        title="Roll dice",
        category="fun",
        tags=("dice", "random", "games", "read"),
        run="inplace",
        read_only=True,
        idempotent=False,  # a second call is a second roll
        open_world=False,
        examples=(
            Example({"notation": "2d6+3"}, "two six-sided dice and 3"),
            Example({"notation": "4d6kh3"}, "four dice, of which the highest three count"),
            Example({"notation": "1d20+1d4-1"}, "several terms"),
        ),
    )
    def roll_dice(context: CallContext, notation: str) -> Annotated[ToolResult, RollData]:
        """Roll dice by their notation and show every die.

        Args:
            notation: dice such as 2d6, d20, d% or 4dF, joined by + and - with each other and with numbers. Behind
                dice: kh3 or kl3 keeps the highest or lowest 3, dh1 or dl1 drops them, ! adds a die for each that shows
                its highest face, r1 throws 1s again, ro1 once. At most 100 dice of at most 1000 sides.
        """
        from pegboard_dice import _throwing as throwing
        from pegboard_dice._notation import parse
        from pegboard_dice._randomness import secure

        outcome = throwing.throw(parse(notation), (randomness or secure)(context.session))
        return ToolResult.text(throwing.text(outcome), data=throwing.data(outcome))

    return (roll_dice,)
