"""What the tests of the page share: an inspector in a thread of its own, and Debian's Chromium, driven by playwright;
without them these tests skip."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from pegboard import open_host
from pegboard_inspect import plugin, serve_inspector


class Served:
    """An inspector in a thread of its own; `address()` lets one browser in.

    Args:
        tools: what is on the board.
        plugins: what else is, beside the inspector's own.
        config: the configuration.
        options: of `serve_inspector`.
    """

    def __init__(self, tools: list[Any], *plugins: Any, config: Any = None, **options: Any) -> None:
        self._tools = tools
        self._plugins = [plugin, *plugins]
        self._config = {"plugins": {}} if config is None else config
        self._options = {"user_id": "ada", **options}
        self._told: list[str] = []
        self._ready = threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as problem:  # raised in the thread of the test
            self._problem = problem
            self._ready.set()

    async def _main(self) -> None:
        async with open_host(self._config, self._plugins) as self.host, trio.open_nursery() as nursery:
            self.host.add(*self._tools)
            self._token, self._scope = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            serve = partial(serve_inspector, self.host, tell=self._told.append, **self._options)
            self.url = await nursery.start(serve)
            self._ready.set()

    def address(self) -> str:
        return self._told[-1]

    def do(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in the loop of the host."""
        return trio.from_thread.run(act, *arguments, trio_token=self._token)

    def do_sync(self, act: Callable[..., Any], *arguments: Any) -> Any:
        return trio.from_thread.run_sync(act, *arguments, trio_token=self._token)

    def __enter__(self) -> Served:
        self._thread.start()
        self._ready.wait(60)
        if self._problem is not None:
            raise self._problem
        return self

    def __exit__(self, *_: object) -> None:
        if self._problem is None:
            self.do_sync(self._scope.cancel)
        self._thread.join(60)
        assert not self._thread.is_alive()


class Looking:
    """One browser that was let in, and what went wrong in it."""

    def __init__(
        self, browser: Any, address: str, wait: str = ".tools > li", token: str | None = None, **options: Any
    ) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        self.context.set_default_timeout(30_000)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda message: message.type in ("error", "warning") and self.problems.append(message.text)
        )
        self.page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector(wait)
        if token is not None:
            self.page.locator("#token").fill(token)
            self.page.get_by_role("button", name="Come in").click()
            self.page.wait_for_selector(".tools > li")
        self.base = self.page.url.partition("#")[0]

    def show(self, path: str, wait: str) -> Any:
        self.page.goto(f"{self.base}#/{path}")
        self.page.wait_for_selector(wait)
        return self.page

    def tool(self, name: str) -> Any:
        page = self.show(f"tool/{name}", ".caller")
        page.get_by_role("heading", level=1).get_by_text(name, exact=True).wait_for()
        return page

    def field(self, name: str, where: Any = None) -> Any:
        """The control of a form by its label, behind which a star may stand."""
        return (where or self.page).get_by_label(re.compile(rf"^{re.escape(name)}(\s*\*)?$"))

    def call(self) -> Any:
        """Press Call, and wait for the end; the JSON of the result."""
        self.page.get_by_role("button", name="Call", exact=True).click()
        self.page.wait_for_selector(".answer .status.good, .answer .status.bad")
        self.page.locator(".answer").get_by_role("tab", name="JSON").click()
        return json.loads(self.page.locator(".answer pre").inner_text())


@pytest.fixture(scope="session")
def inspect_board() -> type[Served]:
    """`with inspect_board(tools) as served`: an inspector in a thread."""
    return Served


@pytest.fixture(scope="module")
def let_in(browser: Any) -> Callable[..., Looking]:
    """`let_in(address, **options)`: a browser of its own that was let in by the address."""
    return partial(Looking, browser)
