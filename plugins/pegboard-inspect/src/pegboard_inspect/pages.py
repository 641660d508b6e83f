"""A page of the inspector that a plugin adds: a title, a path, what it shows and the ES module that shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard import Host

OWN = ("tools", "tool", "calls")
"""Paths that the inspector has itself."""


def _path(_: Any, field: attrs.Attribute[Any], value: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", value) or value in OWN:
        raise ValueError(f"path: expected a word of small letters, digits and dashes, and none of {', '.join(OWN)}")


@attrs.frozen(kw_only=True)
class Page:
    """One page, as `provide_pages` gives it.

    Args:
        title: what stands in the navigation.
        path: the word under which the page is found, in small letters.
        module: the text of an ES module, whose default export is `show(root, board)`: it fills the element `root`, may
            be async, and may return a function that is called when the page is left. `board` has `data()` and
            `act(name, value)`, which ask this page's `data` and `actions`, and `h(tag, attributes, ...children)`, which
            makes elements whose texts are never read as HTML. It is served with a policy that runs no script of
            elsewhere, no inline script and no `eval`.
        data: `await data(host)` gives a JSON value; asked for whenever the page is shown.
        actions: what the page may do, by name: `await action(host, value)`, each given and giving a JSON value. Only a
            page that was let in reaches them. A `PegboardError` that one raises is shown to the person.

    Raises:
        ValueError: the path is not such a word, or one of the inspector's own.

    .. versionadded:: 0.1
    """

    title: str
    path: str = attrs.field(validator=_path)
    module: str = attrs.field(repr=False)
    data: Callable[[Host], Awaitable[Any]]
    actions: Mapping[str, Callable[[Host, Any], Awaitable[Any]]] = attrs.field(factory=dict)
