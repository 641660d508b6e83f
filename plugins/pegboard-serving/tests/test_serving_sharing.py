"""Places that callers share: who gets one, and who makes room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pegboard_serving import Caller
from pegboard_serving.sharing import Place, Places, most_of_one, owner_of


class Held(Place):
    """A place that says when it was taken away."""

    def __init__(self, owner: str, *, idle: bool = True) -> None:
        self.idle, self.left = idle, False
        super().__init__(owner, lambda: self.idle, self.go)

    def go(self) -> None:
        self.left = True


def test_who_has_most_makes_room_with_what_was_idle_for_longest() -> None:
    places = Places(4)
    ada = [Held("ada") for _ in range(3)]
    bob = Held("bob")
    assert all(map(places.take, [*ada, bob]))
    places.touch(ada[0])
    assert places.take(Held("cy"))
    assert [one.left for one in ada] == [False, True, False]
    assert not bob.left


def test_what_is_in_use_is_never_taken_away() -> None:
    places = Places(3)
    ada = [Held("ada", idle=number == 2) for number in range(3)]
    assert all(map(places.take, ada))
    assert places.take(Held("bob", idle=False))
    assert [one.left for one in ada] == [False, False, True]
    assert not places.take(Held("bob"))
    assert not places.take(Held("cy"))


def test_nobody_takes_from_who_has_no_more() -> None:
    places = Places(2)
    assert all(map(places.take, [Held("ada"), Held("ada")]))
    assert not places.take(Held("ada"))
    assert places.take(Held("bob"))
    assert not places.take(Held("ada"))
    assert not places.take(Held("bob"))
    assert Places(1, own_too=True).take(Held("ada"))


def test_ones_own_idle_place_makes_room_where_that_is_said() -> None:
    places = Places(2, own_too=True)
    first, second = Held("ada"), Held("ada", idle=False)
    assert all(map(places.take, [first, second, Held("ada")]))
    assert (first.left, second.left) == (True, False)


def test_a_part_is_left_to_others() -> None:
    places = Places(20, most_of_one(20, is_shared=True))
    assert [places.take(Held("ada", idle=False)) for _ in range(20)] == [True] * 18 + [False] * 2
    assert places.take(Held("bob", idle=False))
    assert most_of_one(20, is_shared=False) == 20
    assert most_of_one(1, is_shared=True) == 1


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["idle", "busy", "give", "touch"])), max_size=40),
)
def test_places_are_never_more_than_there_are(
    count: int, most: int, own_too: bool, steps: list[tuple[str, str]]
) -> None:
    """However they are taken and given back: at most `count` in all and `most` of one are held, none in use is taken,
    and a caller is refused only where nobody with more has an idle one."""
    places, held = Places(count, most, own_too=own_too), []
    for owner, step in steps:
        own = [one for one in held if one.owner == owner]
        if step in ("idle", "busy"):
            one = Held(owner, idle=step == "idle")
            richer = [x for x in held if x.idle and sum(y.owner == x.owner for y in held) > len(own)]
            taken = places.take(one)
            assert taken or len(own) >= most or (len(held) >= count and not richer)
            assert all(x.idle for x in held if x.left)
            held = [x for x in held if not x.left] + ([one] if taken else [])
        elif own and step == "give":
            places.give_back(own[0])
            places.give_back(own[0])
            held.remove(own[0])
        elif own:
            places.touch(own[-1])
        assert len(held) <= count
        assert all(sum(x.owner == who for x in held) <= most for who in "abc")


def test_places_are_a_users_or_where_nobody_is_known_an_addresss() -> None:
    scope = {"client": ("192.0.2.1", 1)}
    tokens = [Caller("ada", None, "token:1"), Caller("ada", "reader", "token:2")]
    assert owner_of(tokens[0], scope) == owner_of(tokens[1], {"client": ("192.0.2.2", 1)})
    assert owner_of(Caller("ada"), scope) == owner_of(Caller(), scope) != owner_of(tokens[0], scope)
    assert owner_of(Caller(), {"client": ("192.0.2.2", 1)}) != owner_of(Caller(), scope)
    assert owner_of(Caller(), {"client": None}) == owner_of(Caller(), {})
