"""Names are a function of what is bound and of what the lock keeps."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_toolgen.names import VALID, Lock, give_names, next_lock, plain_name, with_suffix


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("sqlite-utils", "insert"), "sqlite_utils_insert"),
        (("humanize", "intcomma"), "humanize_intcomma"),
        (("get", "buckets", "bucket_id"), "get_buckets_bucket_id"),
        (("get", "userPets", "HTTPServer"), "get_user_pets_http_server"),
        (("getUserIDs", "IPv6Pools", "VLANs", "APIsList"), "get_user_ids_ipv6_pools_vlans_apis_list"),
        (("2fa", "new"), "_2fa_new"),
        (("café",), "cafe"),
        (("get", ""), "get"),
    ],
)
def test_words_become_snake_case(words: tuple[str, ...], name: str) -> None:
    assert plain_name(words, "id") == name


def test_what_cannot_be_spelled_is_told_apart_by_its_id() -> None:
    one, other = plain_name(("get", "猫"), "http:GET /猫"), plain_name(("get", "犬"), "http:GET /犬")
    assert one != other
    assert one.startswith("get_")
    assert plain_name(("猫",), "a").startswith("tool_")


def test_a_name_that_was_cut_carries_its_hash() -> None:
    long, longer = "a" * 70, "a" * 71
    assert plain_name((long,), "one") == with_suffix(long, "one")
    assert len(plain_name((long,), "one")) == 64
    assert plain_name((long,), "one") != plain_name((longer,), "two")


def test_every_one_of_the_clashing_gets_a_suffix() -> None:
    names = give_names({"http:GET /a-b": ("get", "a-b"), "http:GET /a_b": ("get", "a_b"), "http:GET /c": ("get", "c")})
    assert names["http:GET /c"] == "get_c"
    assert names["http:GET /a-b"] == with_suffix("get_a_b", "http:GET /a-b")
    assert names["http:GET /a_b"] == with_suffix("get_a_b", "http:GET /a_b")


def test_the_first_better_name_that_is_free_is_given() -> None:
    """A clash sends each to its next name, and nobody gets a hash while one is free."""
    words = {"http:GET /a": ("get", "a"), "http:GET /b": ("get", "b"), "http:GET /c": ("get", "c")}
    better = {"http:GET /a": [("list",), ("ants", "list")], "http:GET /b": [("list",)], "http:GET /c": [("cats",)]}
    names = {"http:GET /a": "ants_list", "http:GET /b": "get_b", "http:GET /c": "cats"}
    assert give_names(words, better=better) == names
    assert give_names(dict(reversed(words.items())), better=better) == names
    lock = Lock({"http:GET /b": "get_bees"}, {"get_c": "http:GET /c", "cats": "http:GET /gone"})
    kept = give_names(words, lock, better=better)
    assert kept == {"http:GET /a": "list", "http:GET /b": "get_bees", "http:GET /c": "get_c"}


def test_a_tool_of_our_own_keeps_its_name_where_another_is_free() -> None:
    words = {"http:GET /tasks": ("get", "tasks"), "http:PUT /tasks": ("put", "tasks"), "program:echo": ("echo",)}
    better = {
        "http:GET /tasks": [("list_tasks",), ("todo", "list_tasks")],
        "http:PUT /tasks": [("update_task",)],
    }
    names = {"http:GET /tasks": "todo_list_tasks", "http:PUT /tasks": "put_tasks", "program:echo": "echo"}
    assert give_names(words, better=better) == names
    assert give_names(words, Lock({"http:GET /tasks": "list_tasks"}), better=better)["http:GET /tasks"] == "list_tasks"


def test_a_long_name_loses_its_middle_and_keeps_its_telling_end() -> None:
    path = ("get", "repositories", "of", "an", "owner", "branches", "protection", "required_status_checks", "contexts")
    assert give_names({"a": path}) == {"a": "get_an_owner_branches_protection_required_status_checks_contexts"}
    both = give_names({"a": path, "b": ("get", "teams", *path[2:])})
    assert both["a"] != both["b"]
    assert both["a"].startswith("get_")


def test_a_locked_name_stays_where_it_is_when_another_comes() -> None:
    lock = Lock({"http:GET /a-b": "get_a_b"})
    names = give_names({"http:GET /a-b": ("get", "a-b"), "http:GET /a_b": ("get", "a_b")}, lock)
    assert names["http:GET /a-b"] == "get_a_b"
    assert names["http:GET /a_b"] == with_suffix("get_a_b", "http:GET /a_b")


def test_the_name_of_a_removed_tool_is_given_to_no_other_and_comes_back_with_it() -> None:
    lock = next_lock(Lock({"http:GET /a-b": "get_a_b"}), {})
    assert lock == Lock({}, {"get_a_b": "http:GET /a-b"})
    other = give_names({"http:GET /a_b": ("get", "a_b")}, lock)
    assert other["http:GET /a_b"] == with_suffix("get_a_b", "http:GET /a_b")
    back = give_names({"http:GET /a-b": ("get", "a-b")}, lock)
    assert back == {"http:GET /a-b": "get_a_b"}
    assert next_lock(lock, back) == Lock({"http:GET /a-b": "get_a_b"})


def test_of_several_names_a_tool_comes_back_with_the_one_that_its_words_make() -> None:
    words = {"http:GET /b": ("get", "b")}
    lock = next_lock(Lock(), give_names(words))
    lock = next_lock(lock, give_names(words, lock, {"http:GET /b": "a_chosen_one"}))
    assert give_names(words, lock) == {"http:GET /b": "a_chosen_one"}
    lock = next_lock(lock, {})
    assert lock.tombstones == {"get_b": "http:GET /b", "a_chosen_one": "http:GET /b"}
    assert give_names(words, lock) == {"http:GET /b": "get_b"}
    assert give_names({"http:GET /c": ("a", "chosen", "one")}, lock) != {"http:GET /c": "a_chosen_one"}
    suffixed = with_suffix("get_b", "http:GET /b")
    both = Lock({}, {"a_chosen_one": "http:GET /b", suffixed: "http:GET /b"})
    assert give_names(words, both) == {"http:GET /b": suffixed}


def test_a_chosen_name_wins_and_buries_the_old_one() -> None:
    lock = Lock({"a": "a_tool"})
    names = give_names({"a": ("a",), "b": ("a_tool",)}, lock, {"a": "mine"})
    assert names["a"] == "mine"
    assert names["b"] != "a_tool"
    assert next_lock(lock, names).tombstones == {"a_tool": "a"}


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"a": "no name"}, "no_name"),
        ({"a": "b_tool"}, "belongs to b"),
        ({"a": "same", "b": "same"}, "belongs to a"),
    ],
)
def test_a_chosen_name_that_cannot_be_is_refused(chosen: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        give_names({"a": ("a",), "b": ("b",)}, Lock({"b": "b_tool"}), chosen)
    assert says in f"{caught.value} {caught.value.hint}"


def test_two_tools_may_swap_their_names() -> None:
    lock = Lock({"a": "x", "b": "y"})
    assert give_names({"a": ("a",), "b": ("b",)}, lock, {"a": "y", "b": "x"}) == {"a": "y", "b": "x"}


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {"lock_version": 2, "names": {}, "tombstones": {}},
        {"lock_version": 1, "names": {"a": 1}, "tombstones": {}},
        {"lock_version": 1, "names": []},
        {"lock_version": 1, "names": {"a": "no name"}, "tombstones": {}},
        {"lock_version": 1, "names": {"a": "x", "b": "x"}, "tombstones": {}},
    ],
)
def test_a_lock_that_is_none_is_refused(said: object) -> None:
    with pytest.raises(ConfigError, match=r"names\.lock"):
        Lock.from_json(said)


def test_a_lock_comes_back_as_it_was_written() -> None:
    lock = Lock({"a": "x"}, {"y": "b"})
    assert Lock.from_json(lock.to_json()) == lock


JSON = st.recursive(
    st.none() | st.integers(0, 2) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=35)
@given(names=JSON, tombstones=JSON)
def test_any_lock_is_read_or_refused(names: object, tombstones: object) -> None:
    """No JSON in the place of a lock makes the reader fail in another way than by a `ConfigError`."""
    with contextlib.suppress(ConfigError):
        lock = Lock.from_json({"lock_version": 1, "names": names, "tombstones": tombstones})
        assert give_names({"id": ("a",)}, lock)


IDS = st.dictionaries(
    st.text(max_size=12), st.lists(st.sampled_from(["a", "b", "A", "a-b", "é", "x" * 40]), max_size=4)
)


@settings(max_examples=50)
@given(words=IDS, gone=st.integers(0, 5))
def test_any_ids_get_valid_names_of_their_own_and_keep_them(words: dict[str, list[str]], gone: int) -> None:
    """Whatever is deleted later, a remaining tool keeps its name and no name moves to another id."""
    names = give_names(words)
    assert names.keys() == words.keys()
    assert len(set(names.values())) == len(names)
    assert all(VALID.fullmatch(name) for name in names.values())
    assert give_names(dict(reversed(words.items()))) == names
    lock = next_lock(Lock(), names)
    left = dict(list(words.items())[gone:])
    assert give_names(left, lock) == {id_: names[id_] for id_ in left}
    later = next_lock(lock, give_names(left, lock))
    fresh = give_names({f"new {id_}": said for id_, said in words.items()}, later)
    assert not set(fresh.values()) & set(names.values())


RUN = st.tuples(
    st.sets(st.sampled_from(["a-b", "a_b", "c", "d"]), min_size=1),
    st.dictionaries(st.sampled_from(["a-b", "c", "d"]), st.sampled_from(["a_b", "c", "x"]), max_size=2),
)


@settings(max_examples=70)
@given(runs=st.lists(RUN, min_size=2, max_size=6))
def test_over_many_runs_a_name_changes_hands_only_where_a_person_gives_it(
    runs: list[tuple[set[str], dict[str, str]]],
) -> None:
    """Tools come, go, come back and are renamed by hints: each run's names are unique, and none moves by itself."""
    lock, owners = Lock(), dict[str, str]()
    for there, said in runs:
        words = {id_: (id_,) for id_ in there}
        chosen = {id_: name for id_, name in said.items() if id_ in there}
        try:
            names = give_names(words, lock, chosen)
        except ConfigError:
            continue
        assert len(set(names.values())) == len(names)
        assert chosen.items() <= names.items()
        for id_, name in names.items():
            assert owners.get(name, id_) == id_ or chosen.get(id_) == name
            owners[name] = id_
            assert id_ in chosen or lock.names.get(id_, name) == name
        lock = Lock.from_json(next_lock(lock, names).to_json())
        assert not set(lock.names.values()) & set(lock.tombstones)
        assert give_names(words, lock) == names
