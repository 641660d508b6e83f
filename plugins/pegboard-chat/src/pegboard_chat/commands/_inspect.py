"""`pegboard chat --inspect`: the conversation at the terminal and its calls, seen in a browser."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pegboard import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pegboard import Session
    from pegboard_chat.commands._talk import Talk


@contextlib.asynccontextmanager
async def seen_in_a_browser(talk: Talk, session: Session) -> AsyncIterator[None]:
    """Serve the inspector as long as the block, with the conversation on its page Chat.

    Raises:
        ConfigError: pegboard-inspect is not installed.
    """
    try:
        from pegboard_inspect import inspecting, told_by
    except ModuleNotFoundError as problem:
        raise ConfigError(
            "--inspect needs pegboard-inspect, which is not installed", hint="pip install pegboard-inspect"
        ) from problem
    from pegboard_chat.inspecting.watching import Watched

    talk.watched = Watched(session, talk.conversation)
    page = talk.watched.page()
    async with inspecting(session.host, tell=told_by(talk.tell_line), user_id=talk.options.user, pages=[page]):
        yield
