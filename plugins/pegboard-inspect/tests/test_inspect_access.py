"""Who is let in: the token is good once, and the cookie below one path."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard_inspect.access import MAX_VISITORS, Access


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
