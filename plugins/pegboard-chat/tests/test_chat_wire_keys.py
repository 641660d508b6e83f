"""Where a key comes from, where it may go, and texts without it."""

from __future__ import annotations

import threading

import keyring
import keyring.backend
import keyring.errors
import pytest
import trio

import pegboard.secrets
from pegboard import open_host, tool
from pegboard_chat import ModelError
from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.keys import Headers, check_address, find_key, is_loopback, key_for, mask, missing_key, no_key

KEY = "sk-proj-Zx81kQ0aVbN3mT7yLwE5RdJ2"


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory that counts who asks."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.asked: list[tuple[str, str]] = []
        self.threads: list[bool] = []
        self.problem: Exception | None = None
        self.gate: threading.Event | None = None

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append((service, username))
        self.threads.append(threading.current_thread() is threading.main_thread())
        if self.gate is not None:
            self.gate.wait(10)
        if self.problem is not None:
            raise self.problem
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    ring = Ring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", ring)
    monkeypatch.delenv("ACME_KEY", raising=False)
    return ring


async def test_a_key_is_looked_for_where_it_is_cheapest_first(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    ring.held["pegboard", "ACME_KEY"] = "of the keyring"
    assert await find_key("ACME_KEY", None) == "of the keyring"
    monkeypatch.setenv("ACME_KEY", " of the environment\n")
    assert await find_key("ACME_KEY", None) == "of the environment"
    assert await find_key("ACME_KEY", "of the configuration") == "of the configuration"
    assert ring.asked == [("pegboard", "ACME_KEY")]


async def test_the_keyring_is_asked_in_a_thread(ring: Ring) -> None:
    await find_key("ACME_KEY", None)
    assert ring.threads == [False]


async def test_what_the_keyring_has_is_a_secret_of_every_board(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: a tool answers with the key that a person keeps in the keyring, where no configuration says it."""
    key = "zq7Vt2mXk9LpR4wB0fTheRing"
    monkeypatch.setattr(pegboard.secrets, "known", {})

    @tool
    async def show() -> str:
        """Show it."""
        return f"it is {key}"

    async with open_host({}, []) as host:
        host.add(show)
        session = host.session(masks_secrets=True)
        assert key in (await session.call("show")).text
        ring.held["pegboard", "ACME_KEY"] = key
        assert await find_key("ACME_KEY", None) == key
        assert (await session.call("show")).text == "it is [masked: secret of this host]"
        assert key in host.board.known_forms()


async def test_blank_is_not_a_key(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "  ")
    ring.held["pegboard", "ACME_KEY"] = " \n"
    assert await find_key("ACME_KEY", "") is None


@pytest.mark.parametrize(
    "problem",
    [keyring.errors.NoKeyringError("none"), keyring.errors.KeyringLocked(KEY), RuntimeError("D-Bus"), OSError()],
)
async def test_a_keyring_that_fails_has_no_key(
    ring: Ring, problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="pegboard.chat.wire")
    ring.problem = problem
    assert await find_key("ACME_KEY", None) is None
    assert type(problem).__name__ in caplog.text
    assert KEY not in caplog.text


async def test_a_keyring_that_waits_for_a_person_can_be_cancelled(ring: Ring) -> None:
    ring.gate = threading.Event()
    with trio.move_on_after(0.05) as scope:
        await find_key("ACME_KEY", None)
    assert scope.cancelled_caught
    ring.gate.set()


async def test_a_keyring_that_never_answers_has_no_key(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_chat.wire.keys.KEYRING_S", 0.05)
    ring.gate = threading.Event()
    assert await find_key("ACME_KEY", None) is None
    ring.gate.set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"wrong key {KEY}!", "wrong key ***!"),
        (f"{KEY[:12]}...", "***"),
        (f"it ends with {KEY[-9:]}", "it ends with ***"),
        (KEY.upper(), "***"),
        ("Incorrect API key provided: sk-ab12********yz9.", "Incorrect API key provided: ***"),
        ("Authorization: Bearer abcdefghij", "Authorization: Bearer ***"),
        ("AIzaSyD-1234567890", "***"),
        ("gsk_1234567890abc", "***"),
        ("a bearer token is missing", "a bearer token is missing"),
        ("the model gpt-5-mini does not exist", "the model gpt-5-mini does not exist"),
        ("task-force, disk-drive, risk_free", "task-force, disk-drive, risk_free"),
        ("", ""),
    ],
)
def test_a_text_is_shown_without_keys(text: str, shown: str) -> None:
    assert mask(text, [KEY, None, ""]) == shown


def test_a_key_that_is_none_takes_no_text_apart() -> None:
    assert mask("x marks the box", ["x"]) == "x marks the box"
    assert mask("Field required", ["no-key-required"]) == "Field required"
    assert mask("key no-key-required is wrong", ["no-key-required"]) == "key *** is wrong"


def test_a_key_inside_another_leaves_nothing() -> None:
    assert mask("abcdefgh abcdef", ["abcdef", "abcdefgh"]) == "*** ***"
    assert "a***b" not in mask("a" + "a***b" + "b", ["a***b"])


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:80/", True),
        ("http://127.0.0.1.evil.example/", False),
        ("http://localhost@evil.example/", False),
        ("http://evil.example#@localhost/", False),
        ("http://0.0.0.0/", False),
        ("nonsense", False),
        ("http://[::1", False),
    ],
)
def test_this_machine_is_told_by_its_name(url: str, here: bool) -> None:
    assert is_loopback(url) is here
    if not here:
        with pytest.raises(ModelError):
            check_address("acme", url, has_key=True)


def test_an_address_in_the_clear_is_refused_with_what_to_do() -> None:
    with pytest.raises(ModelError) as caught:
        check_address("acme", "http://models.example/v1", has_key=True, variable="ACME_BASE_URL")
    assert caught.value.message == (
        "acme: the key would go to models.example unencrypted; let ACME_BASE_URL begin with https://, or take the key"
        " away if the server needs none"
    )
    check_address("acme", "http://models.example/v1", has_key=False)
    check_address("acme", "HTTPS://models.example/v1", has_key=True)


def test_no_key_is_in_a_repr() -> None:
    place = Place("acme", "m", headers={"x-api-key": KEY}, key=KEY, secrets=(KEY,))
    assert KEY not in repr(place)
    assert KEY not in repr(Headers({"x-api-key": KEY}))
    assert "x-api-key" in repr(place)


def test_the_error_without_a_key_says_both_ways_to_give_one() -> None:
    error = no_key("acme", "ACME_KEY")
    assert error.details["reason"] == "no_key"
    assert error.message == "acme needs a key: set ACME_KEY, or keep it in the keyring: keyring set pegboard ACME_KEY"


async def test_a_key_goes_to_an_address_that_may_have_it(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    ring.held["pegboard", "ACME_KEY"] = "of the keyring"
    assert await key_for("acme", "https://acme.example/v1", "ACME_KEY") == "of the keyring"
    with pytest.raises(ModelError, match=r"unencrypted; let ACME_URL begin") as caught:
        await key_for("acme", "http://acme.example/v1", "ACME_KEY", address="ACME_URL")
    assert caught.value.details["reason"] == "refused"
    monkeypatch.setenv("ACME_KEY", "of the environment")
    assert await key_for("acme", "https://acme.example/v1", "ACME_KEY", " configured ") == "configured"
    assert await key_for("acme", "http://127.0.0.1:8080", "ACME_KEY") == "of the environment"


async def test_a_server_of_this_machine_does_without_the_key_of_the_keyring(ring: Ring) -> None:
    ring.held["pegboard", "ACME_KEY"] = "of the keyring"
    assert await key_for("acme", "http://localhost:8080", "ACME_KEY") is None
    assert ring.asked == []


async def test_a_key_that_nobody_has_is_missed_where_it_is_needed(ring: Ring) -> None:
    far = "https://acme.example/v1"
    with pytest.raises(ModelError, match="set ACME_KEY, or keep it in the keyring") as caught:
        await key_for("acme", far, "ACME_KEY")
    assert caught.value.details["reason"] == "no_key"
    assert await key_for("acme", far, "ACME_KEY", needed=False) is None
    assert await key_for("acme", far, None) is None


def test_what_is_missing_is_said_without_a_look_at_the_keyring(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    ring.held["pegboard", "ACME_KEY"] = "of the keyring"
    far = "https://acme.example/v1"
    assert missing_key(far, "ACME_KEY") == "set ACME_KEY, or keep it in the keyring: keyring set pegboard ACME_KEY"
    assert missing_key("http://127.0.0.1:1", "ACME_KEY") is None
    assert missing_key(far, "ACME_KEY", "configured") is None
    monkeypatch.setenv("ACME_KEY", "  ")
    assert missing_key(far, "ACME_KEY") is not None
    monkeypatch.setenv("ACME_KEY", "of the environment")
    assert missing_key(far, "ACME_KEY") is None
    assert ring.asked == []
