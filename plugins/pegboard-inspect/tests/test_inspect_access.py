"""Who is let in: the token is good once, and the cookie below one path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_inspect.access import GUESSES_S, MAX_ADDRESSES, MAX_GUESSES, MAX_VISITORS, Access, Guesses
from pegboard_serving import Tokens


def cookie_of(header: str) -> bytes:
    return header.partition(";")[0].encode()


def test_a_token_lets_in_once() -> None:
    access = Access()
    token = access.new_token()
    assert access.enter(token) is not None
    assert access.enter(token) is None


def test_a_token_that_was_not_used_is_good_for_nothing_once_there_is_another() -> None:
    access = Access()
    old = access.new_token()
    new = access.new_token()
    assert access.enter(old) is None
    assert access.enter(new) is not None


@given(st.one_of(st.none(), st.integers(), st.text(max_size=300), st.lists(st.text(), max_size=2)))
def test_nothing_but_the_token_lets_in(given_token: object) -> None:
    access = Access()
    assert access.enter(given_token) is None
    access.new_token()
    assert access.enter(given_token) is None


def test_a_cookie_is_good_below_its_own_path_alone_and_no_script_or_other_site_has_it() -> None:
    access = Access()
    (one, first), (other, second) = (access.enter(access.new_token()) for _ in range(2))  # type: ignore[misc]
    assert access.find(one.base, [cookie_of(first)]) is one
    assert access.find(one.base, [b"a=b; " + cookie_of(first)]) is one
    assert access.find(one.base, [cookie_of(second)]) is None
    assert access.find(other.base, [cookie_of(first)]) is None
    assert access.find("/s-", [cookie_of(first)]) is None
    assert access.find(one.base, []) is None
    assert f"Path={one.base}/; HttpOnly; SameSite=Strict" in first


def test_the_first_browser_has_to_come_again_where_there_are_too_many() -> None:
    access = Access()
    came = [access.enter(access.new_token()) for _ in range(MAX_VISITORS + 1)]
    still = [access.find(visitor.base, [cookie_of(header)]) is visitor for visitor, header in filter(None, came)]
    assert still == [False] + [True] * MAX_VISITORS


def of_ada() -> Tokens:
    return Tokens({"let-ada-in": "ada"}, section="plugins.inspect.tokens")


SAME_CLIENT = [
    ("127.0.0.1", "127.0.0.77"),
    ("127.0.0.1", "::1"),
    ("127.0.0.1", "::ffff:127.0.0.1"),
    ("192.0.2.7", "::ffff:192.0.2.7"),
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
    ("fe80::1%eth0", "fe80::2%eth1"),
    ("", "no address"),
]


@pytest.mark.parametrize(("one", "same"), SAME_CLIENT)
def test_wrong_tokens_are_bounded_by_whoever_sends_them_and_others_go_on(one: str, same: str) -> None:
    now = [0.0]
    access = Access(of_ada(), guesses=Guesses(lambda: now[0]))
    came = access.enter(access.new_token(), one)
    for number in range(MAX_GUESSES):
        assert access.guesses.wait_s(one) == 0
        assert access.enter(f"guess {number}", one) is None
    assert access.enter("let-ada-in", one) is None  # it is not looked at, and a guess that is right says nothing
    assert access.enter("let-ada-in", same) is None
    assert access.guesses.wait_s(same) == GUESSES_S
    assert access.enter("let-ada-in", "198.51.100.1") is not None
    assert came is not None
    assert access.find(came[0].base, [cookie_of(came[1])]) is came[0]
    assert access.enter(access.new_token(), one) is not None  # nobody guesses it
    now[0] = GUESSES_S
    assert access.enter("let-ada-in", one) is not None


@given(st.lists(st.tuples(st.sampled_from(["192.0.2.1", "192.0.2.2"]), st.floats(0, 30)), max_size=80))
def test_whatever_comes_no_more_is_looked_at_than_the_bound(came: list[tuple[str, float]]) -> None:
    now, looked = [0.0], [("", -GUESSES_S)]
    guesses = Guesses(lambda: now[0])
    for address, later in came:
        now[0] += later
        if not guesses.wait_s(address):
            guesses.note(address)
            looked.append((address, now[0]))
    for address, at in looked:
        assert sum(one == address and at <= when < at + GUESSES_S for one, when in looked) <= MAX_GUESSES


def test_the_addresses_that_are_counted_are_bounded() -> None:
    guesses = Guesses(lambda: 0.0)
    for number in range(MAX_ADDRESSES + 10):
        guesses.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(guesses._wrong) == MAX_ADDRESSES
