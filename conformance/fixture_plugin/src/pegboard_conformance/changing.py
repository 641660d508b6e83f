"""Lists that change: a source that swaps its tools, and prompts that come and go, each on a call."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pegboard import CallContext, SourceState, Tool, tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import SourceSlot
    from pegboard.session import Session


def _tool_number(number: int) -> Tool:
    async def handler() -> str:
        return f"tool {number}"

    return Tool(
        name=f"test_changed_{number}", handler=handler, description=f"The tool that is there after change {number}."
    )


async def _nothing(session: Session, arguments: Mapping[str, str]) -> str:
    return "This prompt came by a change."


class ChangingSource:
    """Two tools to call, and what they change."""

    name = "changing"
    timeout_s: float | None = None

    def __init__(self) -> None:
        self._changes: Iterator[int] = itertools.count(1)

    async def run(self, slot: SourceSlot) -> None:
        """Offer both tools; the first swaps what stands beside them, the second swaps a prompt."""
        import trio

        from pegboard_mcp.capabilities import Capabilities, Prompt

        @tool
        async def test_trigger_tool_change() -> str:
            """Change the list of tools."""
            slot.replace([*standing, _tool_number(next(self._changes))])
            return "The list of tools changed."

        @tool
        async def test_trigger_prompt_change(context: CallContext) -> str:
            """Change the list of prompts."""
            name = f"test_changed_{next(self._changes)}"
            prompt = Prompt(name=name, get=_nothing, description="It came by a change.", source=self.name)
            context.resource(Capabilities).replace_prompts(self.name, [prompt])
            return "The list of prompts changed."

        standing = [test_trigger_tool_change, test_trigger_prompt_change]
        slot.replace(standing)
        slot.set_state(SourceState.READY)
        await trio.sleep_forever()
