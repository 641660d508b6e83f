"""A page of the inspector that a plugin adds: a title, a path, what it shows and the ES module that shows it."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard import Host, Session

OWN = ("tools", "tool", "calls")
"""Paths that the inspector has itself."""


def text_of(name: str) -> str:
    """A file that the inspector's own pages are made of."""
    return (resources.files("pegboard_inspect") / "static" / name).read_text(encoding="utf-8")


def _path(_: Any, field: attrs.Attribute[Any], value: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", value) or value in OWN:
        raise ValueError(f"path: expected a word of small letters, digits and dashes, and none of {', '.join(OWN)}")


@attrs.frozen(kw_only=True, eq=False)
class PageStream:
    """One stream to a page, while it is open: what a function of `Page.streams` is given.

    Args:
        host: whose board is inspected.
        session: of this browser on this page, on a channel of the page's path: what its calls ask a person is a dialog
            in the browser, and the page hears of their progress.
        send: `await send(value)` gives the page a JSON value, and waits while it has much to read still.

    .. versionadded:: 0.1
    """

    host: Host
    session: Session
    send: Callable[[Any], Awaitable[None]] = attrs.field(repr=False)


def _names(page: Page, field: attrs.Attribute[Any], value: Mapping[str, Any]) -> None:
    if both := value.keys() & page.actions.keys():
        raise ValueError(f"streams: {min(both)!r} is an action already")


@attrs.frozen(kw_only=True)
class Page:
    """One page, as `provide_pages` gives it.

    Args:
        title: what stands in the navigation.
        path: the word under which the page is found, in small letters.
        module: the text of an ES module, whose default export is `show(root, board)`: it fills the element `root`, may
            be async, and may return a function that is called when the page is left. `board` has what the page asks
            and what shows it; `docs/how-to/inspect-the-board.md` lists that. It is served with a policy that runs no
            script of elsewhere, no inline script and no `eval`.
        style: the text of a style sheet, which holds while the page is shown; empty: the inspector's own is enough.
        data: `await data(host)` gives a JSON value; asked for whenever the page is shown.
        actions: what the page may do, by name: `await action(host, value)`, each given and giving a JSON value. Only a
            page that was let in reaches them. A `PegboardError` that one raises is shown to the person.
        streams: what takes its time, by name: `await stream(page_stream, value)` sends the page JSON values until it
            returns. The page leaves it by cancelling it. Errors as of actions.
        watches: whether the module has a function `watch(board)` too, called once in every browser that was let in,
            whatever page it shows: what has to be told at once belongs there.

    Raises:
        ValueError: the path is not such a word, or one of the inspector's own; an action and a stream have one name.

    .. versionadded:: 0.1
    """

    title: str
    path: str = attrs.field(validator=_path)
    module: str = attrs.field(repr=False)
    data: Callable[[Host], Awaitable[Any]]
    actions: Mapping[str, Callable[[Host, Any], Awaitable[Any]]] = attrs.field(factory=dict)
    streams: Mapping[str, Callable[[PageStream, Any], Awaitable[None]]] = attrs.field(factory=dict, validator=_names)
    style: str = attrs.field(default="", repr=False)
    watches: bool = False
