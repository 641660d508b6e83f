"""What is rendered beside a manifest: the right files, stable to the byte, true to the manifest."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from pegboard_manifest.document import load
from pegboard_manifest.projection import ProjectionError
from pegboard_toolgen.parts import FULL
from pegboard_toolgen.write import render
from pegboard_toolgen.write.view import view_of

PLAIN = ("-p", "no:cacheprovider", "--disable-plugin-autoload")
"""Options with which pytest is itself alone, whatever is installed beside it."""
NAMES = ("orders_items_post", "prices_mean", "shop_list")


def written(files: dict[str, bytes], folder: Path, manifest: Any) -> Path:
    for name, content in {**files, "tool.manifest.json": json.dumps(manifest).encode()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(item) for key, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for item in value.values() for ref in references(item)]
    return [ref for item in value for ref in references(item)] if isinstance(value, list) else []


def pointed(document: Any, ref: str) -> Any:
    assert ref.startswith("#"), ref
    for part in ref[1:].split("/")[1:]:
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def test_the_sample_is_a_manifest(shop: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "tool.manifest.json").write_text(json.dumps(shop))
    assert tuple(load(tmp_path / "tool.manifest.json").tools) == NAMES


def test_every_output_of_the_issue_is_there(shop: dict[str, Any]) -> None:
    assert set(render(shop)) == {
        *(f"schemas/{name}.schema.json" for name in NAMES),
        *(f"tests/golden/{name}.json" for name in NAMES),
        "README.md",
        "adapters/langchain_tools.py",
        "adapters/mcpb/manifest.json",
        "adapters/mcpb/server/main.py",
        "adapters/openai.json",
        "adapters/openapi.json",
        "adapters/server.json",
        "adapters/utcp.json",
        "mcp.json",
        "pegboard.toml",
        "shop-tools/SKILL.md",
        "skill.md",
        "tests/test_tools_of_shop_tools.py",
    }


def test_what_langchain_hands_to_a_model_has_no_keys(shop: dict[str, Any]) -> None:
    """The session of the adapter masks, as those of chat, MCP and the gateway do."""
    tree = ast.parse(render(shop)["adapters/langchain_tools.py"])
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "host.session"]
    assert [{key.arg: ast.unparse(key.value) for key in one.keywords}["masks_secrets"] for one in calls] == ["True"]


LEAN = {"README.md", "mcp.json", "pegboard.toml", "shop-tools/SKILL.md", "skill.md"}


def test_each_part_brings_its_files_and_documents_name_no_others(shop: dict[str, Any]) -> None:
    whole = render(shop)
    of_each = {part: render(shop, {part}).keys() - LEAN for part in FULL}
    some = sorted(FULL - {"routes"})
    every = (set(one) for count in range(len(some) + 1) for one in itertools.combinations(some, count))
    for parts in (*every, {"routes"}, set(FULL)):
        files = render(shop, parts)
        assert files.keys() == LEAN.union(*(of_each[part] for part in parts))
        assert all(
            files[name] == whole[name] for name in files.keys() - {"README.md", "skill.md", "shop-tools/SKILL.md"}
        )
        # What is offered, and is not there, stands in a list of its own.
        text, _, offered = files["README.md"].decode().partition("\n`llm-toolgen build --with")
        named = tuple(set(re.findall(r"(?:adapters|schemas|tests)/[\w./]*", text)))
        assert [name for name in named if not any(file.startswith(name) for file in files)] == []
        assert [file for file in files.keys() - LEAN if not file.startswith(named)] == []
        assert set(re.findall(r"^- `(\w+)`", offered, re.MULTILINE)) == FULL - parts - {"routes"}
        assert ("schema.json" in files["skill.md"].decode()) is ("schemas" in parts)


def test_the_bytes_depend_on_values_and_never_on_order(shop: dict[str, Any]) -> None:
    turned = reversed_keys(shop)
    turned["tools"].reverse()
    assert render(turned) == render(shop)
    assert list(render(turned)) == sorted(render(shop))


def test_the_bytes_are_those_of_every_hash_seed_and_folder(shop: dict[str, Any], tmp_path: Path) -> None:
    program = (
        "import hashlib, json, sys; from pegboard_toolgen.write import render;"
        "print(hashlib.sha256(repr(render(json.load(sys.stdin))).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(shop),
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed, folder in (("1", tmp_path), ("4242", Path("/")))
    }
    assert len(digests) == 1


def test_the_manifest_is_not_changed(shop: dict[str, Any]) -> None:
    before = copy.deepcopy(shop)
    render(shop)
    assert shop == before


def test_texts_are_utf_8_with_one_line_break_at_the_end(shop: dict[str, Any]) -> None:
    for name, content in render(shop).items():
        assert content.decode().endswith("\n"), name
        assert not content.endswith(b"\n\n"), name
        assert b"\r" not in content, name


def test_a_schema_stands_alone_and_takes_the_examples(shop: dict[str, Any]) -> None:
    files = render(shop)
    for tool in shop["tools"]:
        schema = json.loads(files[f"schemas/{tool['name']}.schema.json"])
        jsonschema_rs.meta.validate(schema)
        assert schema["$schema"] == shop["schema_dialect"]
        check = jsonschema_rs.Draft202012Validator(schema)
        for example in tool["examples"]:
            check.validate({key: example[key] for key in ("input", "output") if key in example})
        assert not check.is_valid({"input": {"unknown": 1}})
        assert check.is_valid({"input": tool["examples"][0]["input"], "error": {"code": "NOT_FOUND", "message": ""}})
        assert not check.is_valid({"input": tool["examples"][0]["input"], "error": {"code": "no"}})


def test_a_cycle_stays_a_cycle_in_every_document(shop: dict[str, Any]) -> None:
    files = render(shop)
    deep = {"name": "a", "parts": [{"name": "b", "parts": [{"name": 3}]}]}
    for name in ("schemas/orders_items_post.schema.json", "adapters/openapi.json", "adapters/utcp.json"):
        document = json.loads(files[name])
        assert references(document)
        for ref in references(document) if name != "adapters/utcp.json" else ():
            assert pointed(document, ref) is not None
    check = jsonschema_rs.Draft202012Validator(json.loads(files["schemas/orders_items_post.schema.json"]))
    assert not check.is_valid({"input": {"id": "1", "item": deep}})
    (utcp,) = [one for one in json.loads(files["adapters/utcp.json"])["tools"] if one["name"] == "orders_items_post"]
    assert not jsonschema_rs.Draft202012Validator(utcp["inputs"]).is_valid({"arguments": {"id": "1", "item": deep}})


def test_the_configuration_serves_the_manifest_and_nothing_of_it_is_in_there(shop: dict[str, Any]) -> None:
    shop["project"]["name"] = 'x"]\n[plugins.evil]\nfiles = ["'
    files = render(shop)
    config = tomllib.loads(files["pegboard.toml"].decode())
    assert config["plugins"] == {"manifest": {"files": ["tool.manifest.json"]}}
    assert json.loads(files["mcp.json"]) == {
        "mcpServers": {"x-plugins-evil-files": {"command": "pegboard", "args": ["--config", "pegboard.toml", "serve"]}}
    }


def test_functions_are_those_of_chat_completions(shop: dict[str, Any]) -> None:
    functions = json.loads(render(shop)["adapters/openai.json"])
    assert [one["function"]["name"] for one in functions] == list(NAMES)
    for one in functions:
        assert set(one) == {"type", "function"}
        assert one["type"] == "function"
        assert set(one["function"]) == {"name", "description", "parameters"}
        for ref in references(one["function"]["parameters"]):
            assert pointed(one["function"]["parameters"], ref) is not None


def test_a_function_has_a_description_of_a_length_that_the_api_takes(shop: dict[str, Any]) -> None:
    shop["tools"][0]["description"] = "word " * 1_000
    (function, *_) = json.loads(render(shop)["adapters/openai.json"])
    assert 1_000 < len(function["function"]["description"]) <= 1_024


def test_the_openapi_document_says_request_answer_and_errors(shop: dict[str, Any]) -> None:
    document = json.loads(render(shop)["adapters/openapi.json"])
    operation = document["paths"]["/tools/orders_items_post"]["post"]
    request = operation["requestBody"]["content"]["application/json"]
    whole = {**document, "$ref": request["schema"]["$ref"]}
    assert jsonschema_rs.Draft202012Validator(whole).is_valid(request["examples"]["example1"]["value"])
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    check = jsonschema_rs.Draft202012Validator({**document, **answer})
    line = {"id": "1", "name": "orders_items_post", "ok": True, "content": [], "error": None, "duration_ms": 1.5}
    assert check.is_valid({**line, "data": {"item": {"name": "bean"}}})
    assert check.is_valid({**line, "data": None})
    assert not check.is_valid({**line, "data": {"item": {"name": 1}}})
    assert set(operation["responses"]) >= {"400", "401", "403", "404", "409", "429", "500", "502", "504"}


def test_a_utcp_manual_has_objects_where_schemas_stand(shop: dict[str, Any]) -> None:
    pair = {"type": "array", "prefixItems": [True, {"type": "string"}], "items": False}
    shop["tools"][1]["input_schema"]["properties"] |= {"any": True, "none": False, "pairs": {"items": pair}}
    manual = json.loads(render(shop)["adapters/utcp.json"])
    given = manual["tools"][1]["inputs"]["properties"]["arguments"]
    assert given["properties"]["any"] == {}
    assert given["properties"]["none"] == {"not": {}}
    assert given["properties"]["pairs"]["items"] == {**pair, "items": {"not": {}}}
    assert given["additionalProperties"] is False


def test_secrets_are_settings_of_a_bundle_and_marked(shop: dict[str, Any]) -> None:
    manifest = json.loads(render(shop)["adapters/mcpb/manifest.json"])
    settings = manifest["user_config"]
    assert {name for name, one in settings.items() if one["sensitive"]} == {"SHOP_PASSWORD", "SHOP_TOKEN"}
    assert settings["SHOP_TOKEN"]["required"] is True
    assert settings["SHOP_PASSWORD"]["default"] == ""
    assert settings["SHOP_URL"]["default"] == "https://shop.example/v1"
    assert manifest["server"]["mcp_config"]["env"]["SHOP_TOKEN"] == "${user_config.SHOP_TOKEN}"
    assert manifest["version"] == "2.1.0"
    assert [tool["name"] for tool in manifest["tools"]] == list(NAMES)


def test_no_text_of_a_manifest_names_a_variable_of_a_bundle(shop: dict[str, Any]) -> None:
    for holder, key in (
        (shop["project"], "name"),
        (shop["project"], "description"),
        (shop["tools"][0], "description"),
        (shop["servers"]["api"], "base_url"),
    ):
        holder[key] += "/${HOME}"
    manifest = json.loads(render(shop)["adapters/mcpb/manifest.json"])
    manifest["server"].pop("mcp_config")
    assert "HOME" in json.dumps(manifest)
    assert "${" not in json.dumps(manifest)


@pytest.mark.parametrize(
    ("version", "semantic"),
    [("1.2.3", "1.2.3"), ("1.2.3-rc.1", "1.2.3-rc.1"), ("2.1", "2.1.0"), ("v04.5.6.7", "4.5.6"), ("", "0.0.0")],
)
def test_a_version_becomes_a_semantic_one(shop: dict[str, Any], version: str, semantic: str) -> None:
    shop["project"]["version"] = version
    files = render(shop)
    assert json.loads(files["adapters/mcpb/manifest.json"])["version"] == semantic
    assert json.loads(files["adapters/server.json"])["version"] == semantic


def test_the_registry_learns_which_variables_are_secret(shop: dict[str, Any]) -> None:
    server = json.loads(render(shop)["adapters/server.json"])
    (package,) = server["packages"]
    variables = {one["name"]: one for one in package["environmentVariables"]}
    assert {name for name, one in variables.items() if one.get("isSecret")} == {
        "SHOP_LOCALE",
        "SHOP_PASSWORD",
        "SHOP_TOKEN",
    }
    assert variables["SHOP_TOKEN"]["isRequired"] is True
    assert variables["SHOP_URL"]["default"] == "https://shop.example/v1"


def test_a_manifest_without_variables_asks_for_none(shop: dict[str, Any]) -> None:
    shop["tools"] = [shop["tools"][1]]
    for key in ("servers", "programs"):
        del shop[key]
    files = render(shop)
    assert "user_config" not in json.loads(files["adapters/mcpb/manifest.json"])
    (package,) = json.loads(files["adapters/server.json"])["packages"]
    assert [one["name"] for one in package["environmentVariables"]] == ["PEGBOARD_PLUGINS__MANIFEST__FILES"]
    assert b"Variables of the environment" not in files["README.md"]


def test_golden_pairs_are_what_the_bindings_make(shop: dict[str, Any]) -> None:
    files = render(shop)
    golden = {name: json.loads(files[f"tests/golden/{name}.json"]) for name in NAMES}
    assert golden["shop_list"]["calls"] == [
        {"input": {"file": "stock.csv", "limit": 2}, "words": ["shop", "list", "--limit=2", "--", "stock.csv"]}
    ]
    (call,) = golden["orders_items_post"]["calls"]
    assert call["request"]["url"] == "https://shop.example/v1/orders/7/items"
    assert json.loads(call["request"]["body"]) == {"name": "bean", "parts": []}
    assert golden["prices_mean"]["calls"][0]["call"]["args"] == ["[1, 2]"]
    ended = {pair["response"]["status"]: pair["error"] for pair in golden["orders_items_post"]["responses"][1:]}
    assert ended[423] == "CONFLICT"
    assert ended[404] == "NOT_FOUND"


def test_an_example_that_a_binding_refuses_is_a_golden_refusal(shop: dict[str, Any]) -> None:
    shop["tools"][2]["examples"] = [{"input": {"file": "../stock.csv"}}]
    golden = json.loads(render(shop)["tests/golden/shop_list.json"])
    assert golden["calls"] == [{"input": {"file": "../stock.csv"}, "error": "INVALID_INPUT"}]


def test_the_rendered_tests_notice_what_changed_with_plain_pytest_and_nothing_else(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    folder = written(render(shop), tmp_path, shop)
    changed = "orders_items_post"
    shop["tools"][0]["binding"]["path"] = "/basket/{id}/items"
    (folder / "tool.manifest.json").write_text(json.dumps(shop))
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", *PLAIN, "tests"]
    calm = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=calm)
    assert done.returncode == 1, done.stdout
    failed = re.findall(r"^FAILED \S+\[([\w-]+)\]", done.stdout, re.MULTILINE)
    passed = re.findall(r"^PASSED \S+\[([\w-]+)\]", done.stdout, re.MULTILINE)
    assert f"{changed}-call-0" in failed
    assert {one.partition("-")[0] for one in failed} == {changed}
    assert {one.partition("-")[0] for one in passed} == set(NAMES)


def test_the_rendered_tests_pass_in_a_strict_project_of_several_folders_of_tools(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """With a configuration and a conftest of its own, in another working directory, whatever the environment says."""
    strict = "[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n"
    (tmp_path / "pytest.ini").write_text(strict)
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef _elsewhere(tmp_path, monkeypatch):\n"
        "    monkeypatch.chdir(tmp_path)\n"
    )
    other = {**shop, "project": {**shop["project"], "name": "other"}}
    for one in (shop, other):
        written(render(one), tmp_path / one["project"]["name"], one)
    (tmp_path / "Shop Tools" / "stock.csv").symlink_to(sys.executable)
    calm = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    calm |= {"SHOP_URL": "ftp://elsewhere", "SHOP_TOKEN": "a-token", "SHOP_BIN": "/nowhere/shop", "READ_ONLY": "1"}
    command = [sys.executable, "-m", "pytest", "-q", *PLAIN]
    (tmp_path / "here").mkdir()
    done = subprocess.run(
        [*command, ".."], cwd=tmp_path / "here", capture_output=True, text=True, timeout=120, check=False, env=calm
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout

    # As the README says it, whatever the project calls its own tests.
    (tmp_path / "pytest.ini").write_text(strict + "python_files = check_*.py\n")
    (said,) = re.findall(r"^pytest (\S+)$", (tmp_path / "other" / "README.md").read_text(), re.MULTILINE)
    done = subprocess.run(
        [*command, said], cwd=tmp_path / "other", capture_output=True, text=True, timeout=120, check=False, env=calm
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_what_is_not_json_or_refers_to_nothing_is_refused(shop: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="holds JSON, not set"):
        render({**shop, "tools": {1}})
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    shop["tools"][0]["examples"][0]["input"]["x"] = deep
    with pytest.raises(ValueError, match="nests at most"):
        render(shop)
    shop["tools"][0]["examples"][0]["input"].pop("x")
    shop["tools"][0]["input_schema"]["properties"]["id"] = {"$ref": "#/$defs/nothing"}
    with pytest.raises(ProjectionError):
        render(shop)


def test_fixed_programs_hold_nothing_of_the_manifest(shop: dict[str, Any]) -> None:
    first = render(shop)
    shop["project"]["name"] = "another"
    for tool in shop["tools"]:
        tool["description"] = '"""\nimport os; os.abort()\n"""'
    second = render(shop)
    programs = {content for name, content in first.items() if name.endswith(".py")}
    assert len(programs) == 3
    assert {content for name, content in second.items() if name.endswith(".py")} == programs
    for content in programs:
        compile(content, "fixed", "exec")


def test_the_example_to_copy_reads_where_a_tool_does(shop: dict[str, Any]) -> None:
    assert b"call prices_mean " in render(shop)["README.md"]
    shop["tools"] = [shop["tools"][0]]
    assert b"call orders_items_post " in render(shop)["README.md"]


def test_what_a_manifest_may_leave_out_is_left_out(shop: dict[str, Any]) -> None:
    """Everything that the format does not require."""
    keep = {"id", "name", "description", "category", "risk", "idempotency", "input_schema", "examples", "binding"}
    bare = {key: shop[key] for key in ("manifest_version", "schema_dialect", "servers", "programs", "modules")}
    bare["project"] = {"name": "!", "runtime": "other", "execution_model": "mixed"}
    bare["tools"] = [
        {
            **{key: value for key, value in tool.items() if key in keep},
            "input_schema": {"type": "object", "properties": {"any": True, "item": {"type": "object"}}},
            "examples": [{"input": {"any": None}}],
        }
        for tool in shop["tools"]
    ]
    bare["tools"][1]["error_schema"] = {"$ref": "#/$defs/error"}
    for program in bare["programs"].values():
        del program["argv0_env"]
    del bare["modules"]["prices"]["distribution"]
    files = render(bare)
    schema = json.loads(files["schemas/prices_mean.schema.json"])
    assert "RATE_LIMITED" in schema["properties"]["error"]["properties"]["code"]["enum"]
    assert "tools/SKILL.md" in files
    assert json.loads(files["adapters/mcpb/manifest.json"])["description"] == "Tools of !"
    bare["tools"] = []
    for key in ("servers", "programs", "modules"):
        del bare[key]
    assert json.loads(render(bare)["adapters/openapi.json"])["paths"].keys() == {"/openapi.json", "/tools"}


def test_a_group_that_holds_most_tools_is_told_apart_again() -> None:
    from types import SimpleNamespace

    from pegboard_toolgen.write._groups import groups_of

    paths = ["/feeds/a", *(f"/api/v1/{name}/{{id}}" for name in ("cats", "cats/all", "dogs", "dogs/all", "birds"))]
    tools: Any = [SimpleNamespace(entry={"id": f"http:GET {path}"}) for path in paths]

    found = groups_of(tools)

    assert {name: len(members) for name, members in found.items()} == {
        "/api/v1/birds": 1, "/api/v1/cats": 2, "/api/v1/dogs": 2, "/feeds": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "lead"),
    [
        ("Sells beans.\n\n## More\n\nMuch more.", "Sells beans."),
        (f"Sells beans. {'Fresh beans every day. ' * 40}", f"Sells beans. {'Fresh beans every day. ' * 16}".strip()),
        ("bean " * 200, f"{'bean ' * 79}bean…"),
    ],
)
def test_pages_say_of_a_project_what_its_description_begins_with(said: str, lead: str, shop: dict[str, Any]) -> None:
    shop["project"]["description"] = said
    assert view_of(shop).description == lead
