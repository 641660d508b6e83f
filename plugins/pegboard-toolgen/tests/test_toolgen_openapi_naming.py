"""What the operations of a document are called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover.openapi import discover_openapi
from pegboard_toolgen.names import VALID, give_names, with_suffix

Json = Any


def names_of(paths: Json) -> dict[str, str]:
    """The name of each operation of a document, by method and path."""
    drafts = discover_openapi({"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths}).drafts
    words = {draft.id: draft.words for draft in drafts}
    names = give_names(words, better={draft.id: draft.better for draft in drafts})
    return {id_.removeprefix("http:"): name for id_, name in names.items()}


def name_of(operation: Json, path: str = "/pets/{id}", method: str = "get") -> str:
    return names_of({path: {method: operation}})[f"{method.upper()} {path}"]


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("listPets", "list_pets"),
        ("pets/show-by-id", "pets_show_by_id"),
        ("Pets.getPetByID", "pets_get_pet_by_id"),
        ("PetsController_findOne", "pets_controller_find_one"),
        ("read_pet_pets__id__get", "read_pet"),
        ("pets__id__get", "pets_id_get"),
        ("showPetUsingGET_1", "show_pet"),
        ("_pets__id__get", "get_pets_id"),
        ("", "get_pets_id"),
        ("operation12", "get_pets_id"),
        ("op_3", "get_pets_id"),
        ("42", "get_pets_id"),
        ("5f3c2a9be01d", "get_pets_id"),
        ("4f1c7d5e-9a0b-4c3d-8e7f-1a2b3c4d5e6f", "get_pets_id"),
        ("猫を読む", "get_pets_id"),
        ("x" * 300, "get_pets_id"),
        (7, "get_pets_id"),
        ("read\x1b[31mPet", "read_pet"),
        ("get_" + "a_very_" * 12 + "long_one", "get_" + "a_very_" * 7 + "long_one"),
    ],
)
def test_an_operation_is_called_by_its_id_where_it_is_one(id_: Json, name: str) -> None:
    assert name_of({"operationId": id_}) == name


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["petstore_list_pets", "petstore.showPet", "Petstore-addPet"], ["list_pets", "show_pet", "add_pet"]),
        (["api_v1_users_list", "api_v1_users_create", "api_v1_me"], ["users_list", "users_create", "me"]),
        (["users_list", "users_create"], ["users_list", "users_create"]),
        (["getPet", "getOwner"], ["get_pet", "get_owner"]),
        (["shop_2_on", "shop_2_off"], ["shop_2_on", "shop_2_off"]),
        (["petstore_list_pets"], ["petstore_list_pets"]),
        (["store", "store_pets"], ["store", "store_pets"]),
        (["shop_list_a", None, "shop_list_b"], ["list_a", "get_p1", "list_b"]),
    ],
)
def test_a_prefix_that_all_share_is_dropped(ids: list[Json], names: list[str]) -> None:
    paths = {f"/p{i}": {"get": {"operationId": id_} if id_ else {}} for i, id_ in enumerate(ids)}
    assert list(names_of(paths).values()) == names


def test_ids_that_are_not_their_own_are_told_apart_by_tag_then_by_path() -> None:
    paths = {
        "/cats": {"get": {"operationId": "list", "tags": ["Cats"]}},
        "/dogs": {"get": {"operationId": "list", "tags": ["Big dogs"]}},
        "/ants": {"get": {"operationId": "list"}},
    }
    assert names_of(paths) == {"GET /cats": "cats_list", "GET /dogs": "big_dogs_list", "GET /ants": "get_ants"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/users/{id}", "get_users_id"),
        ("/api/users", "get_users"),
        ("/v2.1/users", "get_users"),
        ("/rest/api/3/issue", "get_issue"),
        ("/api/v1", "get_api_v1"),
        ("/apis/v1/users", "get_apis_v1_users"),
        ("/video/users", "get_video_users"),
    ],
)
def test_what_many_paths_begin_with_is_not_in_a_name(path: str, name: str) -> None:
    assert name_of({}, path) == name
    both = names_of({"/api/v1/users": {"get": {}}, "/api/v2/users": {"get": {}}})
    assert list(both.values()) == ["get_api_v1_users", "get_api_v2_users"]


def test_a_long_path_keeps_its_telling_end() -> None:
    path = "/repos/{owner}/{repo}/branches/{branch}/protection/required_status_checks/contexts"
    assert name_of({}, path) == "get_repos_branches_protection_required_status_checks_contexts"
    longer = f"/organisations/{{organisation}}{path}"
    assert name_of({}, longer) == "get_repos_branches_protection_required_status_checks_contexts"
    assert name_of({"tags": ["Repositories"]}, longer, "put") == (
        "put_repos_branches_protection_required_status_checks_contexts"
    )


words = st.sampled_from(["pets", "Pets", "{id}", "{pet_id}", "a-b", "a_b", "é", "x" * 30, "y" * 40])
operations = st.fixed_dictionaries(
    {}, optional={"operationId": st.sampled_from(["list", "pets_list", "get", "é"]), "tags": st.just(["Pets"])}
)


@settings(max_examples=60)
@given(
    paths=st.dictionaries(
        st.lists(words, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)),
        st.dictionaries(st.sampled_from(["get", "put"]), operations, max_size=2),
        max_size=6,
    )
)
def test_names_are_valid_and_their_own_whatever_the_order(paths: Json) -> None:
    """And where no two want the same, and nothing is lost or too long, there is no hash."""
    names = names_of(paths)
    assert len(set(names.values())) == len(names)
    assert all(VALID.fullmatch(name) for name in names.values())
    assert names_of(dict(reversed(paths.items()))) == names
    for operation, name in names.items():
        hashed = name.endswith(with_suffix("", f"http:{operation}")[1:])
        wanted = operation.lower().replace("-", "_").translate(str.maketrans("/", "_", "{} "))
        alone = [other.lower().replace("-", "_").translate(str.maketrans("/", "_", "{} ")) for other in names]
        assert not hashed or "é" in operation or len(wanted) > 60 or alone.count(wanted) > 1
