"""From `provider:model` to an open model: what is meant where nothing is said, what to set where nothing is ready."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import pegboard_chat.plugin
from pegboard import ConfigError, hookimpl, load_board
from pegboard_chat import open_model, providers_of
from pegboard_chat.wire.transport import REQUEST_TIMEOUT_S, open_transport


class Acme:
    """A provider that opens models in memory."""

    def __init__(self, name: str, missing: str | None = None, default_model: str | None = "m1") -> None:
        self.name = name
        self.default_model = default_model
        self.lacks = missing
        self.opened: list[str | None] = []
        self.closed = 0
        self.timeouts: list[float] = []

    def missing(self) -> str | None:
        return self.lacks

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Any]:
        self.opened.append(model)
        async with open_transport() as transport:
            self.timeouts.append(transport.limits.timeout_s)
            yield SimpleNamespace(name=f"{self.name}:{model or self.default_model}")
        self.closed += 1

    async def list_models(self) -> Sequence[str]:
        return ()


def plugin_of(name: str, *providers: Any) -> Any:
    class Plugin:
        asked = 0

        @hookimpl(optionalhook=True)
        def provide_models(self) -> list[Any]:
            self.asked += 1
            return list(providers)

    return type(name, (Plugin,), {})()


def board_of(*plugins: Any, chat: dict[str, Any] | None = None) -> Any:
    """A board with pegboard-chat itself, whose only provider is `echo`, and these."""
    return load_board({"plugins": {"chat": chat or {}}}, [pegboard_chat.plugin, *plugins])


async def opened_by(board: Any, name: str | None = None) -> str:
    async with open_model(board, name) as model:
        return model.name


async def failing(board: Any, name: str | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        await opened_by(board, name)
    assert caught.value.hint
    return caught.value


async def test_a_model_is_named_by_provider_and_model() -> None:
    acme = Acme("acme")
    board = board_of(plugin_of("acme", acme))
    assert await opened_by(board, "acme:m7") == "acme:m7"
    assert await opened_by(board, "acme:org/m:7b") == "acme:org/m:7b"
    assert await opened_by(board, "acme") == "acme:m1"
    assert acme.opened == ["m7", "org/m:7b", None]
    assert acme.closed == 3


async def test_a_host_is_as_good_as_its_board(host_with: Any) -> None:
    host = await host_with(pegboard_chat.plugin, plugin_of("acme", Acme("acme")))
    assert await opened_by(host, "acme") == "acme:m1"
    assert "acme" in providers_of(host)


async def test_providers_are_listed_by_name() -> None:
    board = board_of(plugin_of("b", Acme("zeta"), Acme("beta")), plugin_of("a", Acme("alpha")))
    found = providers_of(board)
    assert [name for name in found if name != "echo"] == ["alpha", "beta", "zeta"]


async def test_the_configuration_says_which_model_is_meant() -> None:
    board = board_of(plugin_of("acme", Acme("acme")), plugin_of("beta", Acme("beta")), chat={"model": "beta:m2"})
    assert await opened_by(board) == "beta:m2"
    assert await opened_by(board, "acme") == "acme:m1"


async def test_the_only_provider_that_lacks_nothing_is_meant() -> None:
    board = board_of(plugin_of("acme", Acme("acme", "set ACME_KEY")), plugin_of("beta", Acme("beta")))
    assert await opened_by(board) == "beta:m1"


async def test_those_that_need_no_key_are_never_meant_without_their_name() -> None:
    board = board_of(plugin_of("openai", Acme("openai", "set OPENAI_API_KEY"), Acme("local"), Acme("echo2", "x")))
    error = await failing(board)
    assert "--model local" in str(error.hint)
    assert await opened_by(board, "local") == "local:m1"


async def test_two_providers_of_one_plugin_are_one_choice() -> None:
    board = board_of(plugin_of("openai", Acme("openai"), Acme("openai-responses")))
    assert await opened_by(board) == "openai:m1"


async def test_two_that_are_ready_have_to_be_chosen_from() -> None:
    error = await failing(board_of(plugin_of("b", Acme("beta")), plugin_of("a", Acme("acme"))))
    assert error.message == "no model is named, and 2 providers are ready: acme, beta"
    assert error.hint == "say which: --model acme, or model = 'acme' under [plugins.chat]"


async def test_where_none_is_ready_everything_that_would_help_is_said() -> None:
    board = board_of(
        plugin_of(
            "openai",
            Acme("openai", "set OPENAI_API_KEY"),
            Acme("openai-responses", "set OPENAI_API_KEY"),
            Acme("local"),
        ),
        plugin_of("acme", Acme("acme", "set ACME_KEY")),
    )
    error = await failing(board)
    assert error.message == "no model is named, and no provider of models is ready"
    assert error.hint == (
        "any of these helps\n"
        "  acme: set ACME_KEY\n"
        "  openai: set OPENAI_API_KEY\n"
        "  a key in the keyring is looked up when its provider is named: --model acme\n"
        "  more providers: pip install pegboard-anthropic pegboard-cohere pegboard-gemini\n"
        "  without a key: --model local (a server on this machine), --model echo (no model at all)"
    )


async def test_without_any_bridge_the_packages_are_named() -> None:
    error = await failing(board_of())
    assert "pip install pegboard-anthropic pegboard-cohere pegboard-gemini pegboard-openai" in str(error.hint)
    assert "keyring" not in str(error.hint)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("acne:m1", "did you mean acme?"),
        ("ACME", "did you mean acme?"),
        ("openai:gpt", "pip install pegboard-openai;"),
        ("openai-responses:gpt", "pip install pegboard-openai;"),
        ("local", "pip install pegboard-openai;"),
        ("gpt-5", "write PROVIDER:MODEL; providers: acme, echo"),
        ("x" * 5_000, "write PROVIDER:MODEL;"),
        (":m1", "write PROVIDER:MODEL;"),
    ],
)
async def test_an_unknown_provider_is_answered_with_what_was_meant(name: str, hint: str) -> None:
    error = await failing(board_of(plugin_of("acme", Acme("acme"))), name)
    assert hint in str(error.hint)
    assert len(error.message) < 150


async def test_a_bridge_that_is_quarantined_is_not_to_be_installed_again() -> None:
    board = board_of(plugin_of("openai", "no provider"))
    assert "openai: quarantined, pegboard doctor says why" in str((await failing(board)).hint)
    assert "the plugin openai is quarantined" in str((await failing(board, "openai:gpt")).hint)


async def test_a_colon_without_a_model_is_a_slip() -> None:
    error = await failing(board_of(plugin_of("acme", Acme("acme"))), "acme:")
    assert error.hint == "write acme:MODEL, or acme alone"


async def test_a_name_of_two_plugins_belongs_to_neither() -> None:
    board = board_of(plugin_of("a", Acme("acme"), Acme("alpha")), plugin_of("b", Acme("acme")))
    assert "acme" not in providers_of(board)
    assert {record.name for record in board.plugins.quarantined} == {"a", "b"}
    assert all("'acme'" in record.quarantined for record in board.plugins.quarantined)


async def test_a_provider_that_fails_to_say_what_it_lacks_leaves_the_others() -> None:
    class Broken(Acme):
        def missing(self) -> str | None:
            raise RuntimeError("oops")

    board = board_of(plugin_of("a", Broken("alpha")), plugin_of("b", Acme("beta", "set B")))
    assert "alpha: it failed to say what it lacks (RuntimeError)" in str((await failing(board)).hint)


async def test_plugins_are_asked_once() -> None:
    plugin = plugin_of("acme", Acme("acme"))
    board = board_of(plugin)
    providers_of(board)
    await opened_by(board, "acme")
    assert plugin.asked == 1


async def test_what_is_not_a_provider_quarantines_its_plugin() -> None:
    board = board_of(plugin_of("a", "no provider"), plugin_of("b", Acme("beta")))
    assert await opened_by(board) == "beta:m1"
    assert [record.name for record in board.plugins.quarantined] == ["a"]


async def test_the_timeout_of_the_configuration_reaches_the_transport_that_a_provider_opens() -> None:
    acme = Acme("acme")
    await opened_by(board_of(plugin_of("acme", acme), chat={"timeout_s": 12.5}))
    assert acme.timeouts == [12.5]
    assert REQUEST_TIMEOUT_S.get() == 300.0
