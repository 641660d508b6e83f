"""From a source to a folder and on: init, build, check, and what a person does in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from pegboard_toolgen import commands, sources
from pegboard_toolgen.drafts import Discovery, DiscoveryError, Draft
from pegboard_toolgen.example_call import example_command
from pegboard_toolgen.profile import Source


def draft(path: str, **more: Any) -> Draft:
    said: dict[str, Any] = {
        "id": f"http:GET {path}",
        "words": ("get", *filter(None, path.split("/"))),
        "binding": {"kind": "http", "server": "api", "method": "GET", "path": path},
        "input_schema": {"type": "object", "additionalProperties": False},
        "output_schema": {"type": "object"},
        "description": f"Get {path}.",
        "kind": "openapi",
        "where": path,
        "category": "read",
    }
    return Draft(**{**said, **more})


@attrs.define
class Api:
    """A source that a test changes: its drafts, and why it fails, if it does."""

    drafts: list[Draft] = attrs.field(factory=lambda: [draft("/dogs"), draft("/cats")])
    fails: str = ""
    version: str = "1.0"
    asked: list[Source] = attrs.field(factory=list)

    def discover(self, source: Source, base_url: str | None = None) -> Discovery:
        self.asked.append(source)
        if self.fails:
            raise DiscoveryError(self.fails, hint="start it")
        return Discovery(
            source={"kind": "openapi", "name": "spec.json", "version": self.version},
            drafts=tuple(self.drafts),
            servers={"api": {"base_url": base_url or "https://api.example.com"}},
            name="zoo",
            version="1.0",
        )


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Api:
    made = Api()
    monkeypatch.setattr(sources, "discover", made.discover)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def run(run_toolgen: Callable[..., Any]) -> Callable[..., Any]:
    return run_toolgen


NOTED = '[check]\nunreachable = "note"\n'
INIT = ("init", "--openapi", "https://api.example.com/spec.json")


def manifest(folder: str = "llm-tooling") -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(Path(folder, "tool.manifest.json").read_text())
    return whole


def edit(change: Callable[[dict[str, Any]], None]) -> None:
    document = manifest()
    change(document)
    Path("llm-tooling/tool.manifest.json").write_text(json.dumps(document))


def tools() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in manifest()["tools"]}


def test_init_makes_a_folder_and_says_what_to_do_next(api: Api, run: Callable[..., Any]) -> None:
    done = run(*INIT)
    assert done.status == 0, done.err
    assert done.out.startswith("llm-tooling: 2 tools of zoo 1.0, 2 of them read only\n")
    assert "next: pegboard --config llm-tooling/pegboard.toml list" in done.err
    assert "pegboard --config llm-tooling/pegboard.toml call get_cats" in done.err
    names = {path.name for path in Path("llm-tooling").iterdir()}
    assert names == {
        "tool.manifest.json",
        "tools.draft.json",
        "project.profile.json",
        "toolgen.toml",
        "names.lock",
        ".toolgen",
        "README.md",
        "skill.md",
        "zoo",
        "mcp.json",
        "pegboard.toml",
    }
    assert manifest()["fingerprint"].keys() == {"face", "action"}
    assert list(tools()["get_dogs"])[:3] == ["id", "name", "description"]


def test_a_second_time_nothing_changes_and_check_finds_nothing(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    before = {path: path.read_bytes() for path in Path("llm-tooling").rglob("*") if path.is_file()}
    assert run(*INIT).out.endswith("nothing changed\n")
    assert run("build").out.endswith("nothing changed\n")
    assert run("init").status == 0
    assert api.asked[-1].where == "https://api.example.com/spec.json"
    done = run("check")
    assert (done.status, done.out) == (0, "llm-tooling is as it should be: 2 tools\n")
    assert {path: path.read_bytes() for path in Path("llm-tooling").rglob("*") if path.is_file()} == before


EVERYTHING = {"adapters", "mcpb", "routes", "schemas", "server", "tests", "utcp"}
FILES = {
    "adapters": {"adapters/openai.json", "adapters/langchain_tools.py", "adapters/openapi.json"},
    "mcpb": {"adapters/mcpb/manifest.json", "adapters/mcpb/server/main.py"},
    "routes": set(),
    "schemas": {"schemas/get_cats.schema.json", "schemas/get_dogs.schema.json"},
    "server": {"adapters/server.json"},
    "tests": {"tests/golden/get_cats.json", "tests/golden/get_dogs.json", "tests/test_tools_of_zoo.py"},
    "utcp": {"adapters/utcp.json"},
}
BASE = {
    ".toolgen/base.json", ".toolgen/outputs.json", "README.md", "mcp.json", "names.lock", "pegboard.toml",
    "project.profile.json", "skill.md", "tool.manifest.json", "toolgen.toml", "tools.draft.json", "zoo/SKILL.md",
}  # fmt: skip


def files_there() -> set[str]:
    folder = Path("llm-tooling")
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def files_of(parts: set[str]) -> set[str]:
    return BASE.union(*(FILES[part] for part in parts))


def not_made(said: str) -> set[str]:
    """The parts that a run says are not there."""
    line = [one for one in said.splitlines() if one.startswith("not made: ")]
    if not line:
        return set()
    assert "; pegboard toolgen build llm-tooling --with WORD,WORD adds any of them, --full all" in line[0]
    return set(line[0].removeprefix("not made: ").partition(";")[0].split(", "))


PARTS_ASKED = [
    ((), set()),
    (("--with", "schemas"), {"schemas"}),
    (("--with", "tests, adapters,schemas"), {"tests", "adapters", "schemas"}),
    (("--with", "mcpb", "--with", "utcp,server"), {"mcpb", "utcp", "server"}),
    (("--full",), EVERYTHING),
    (("--full", "--with", "tests"), EVERYTHING),
    (("--lean", "--with", "tests"), {"tests"}),
]


@pytest.mark.parametrize(("words", "parts"), PARTS_ASKED)
def test_a_folder_holds_the_parts_that_were_asked_for_and_keeps_them(
    api: Api, run: Callable[..., Any], words: tuple[str, ...], parts: set[str]
) -> None:
    done = run(*INIT, *words)
    assert done.status == 0, done.err
    assert files_there() == files_of(parts)
    assert not_made(done.err) == EVERYTHING - parts
    api.drafts[0] = draft("/dogs", description="Other dogs.")
    for later in (("init",), INIT, ("build",), ("check",)):
        done = run(*later)
        assert done.status == 0, done.out + done.err
        assert files_there() == files_of(parts)
        assert not_made(done.err) == EVERYTHING - parts
    assert run(*INIT).out.endswith("nothing changed\n")


@pytest.mark.parametrize("command", [("build",), ("init",)])
@pytest.mark.parametrize(("words", "parts"), PARTS_ASKED[1:])
def test_parts_are_added_to_a_lean_folder_and_taken_away_again(
    api: Api, run: Callable[..., Any], command: tuple[str, ...], words: tuple[str, ...], parts: set[str]
) -> None:
    run(*INIT)
    lean = {name: Path("llm-tooling", name).read_bytes() for name in files_there()}
    done = run(*command, *words)
    assert done.status == 0, done.err
    assert files_there() == files_of(parts)
    assert run("check").status == 0
    assert run(*command, "--with", "utcp").status == 0
    assert files_there() == files_of(parts | {"utcp"})
    assert run(*command, "--lean").status == 0
    assert {name: Path("llm-tooling", name).read_bytes() for name in files_there()} == lean


def test_a_part_that_a_person_changed_is_not_taken_away(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT, "--full")
    Path("llm-tooling/adapters/openai.json").write_text("mine")
    refused = run("build", "--lean")
    assert refused.status == 2
    assert "adapters/openai.json in llm-tooling was changed by hand" in refused.err
    assert files_there() == files_of(EVERYTHING)


def test_a_folder_of_the_time_when_each_had_all_parts_keeps_them(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT, "--full")
    place = Path("llm-tooling/.toolgen/outputs.json")
    record = json.loads(place.read_text())
    assert set(record.pop("with")) == EVERYTHING
    place.write_text(json.dumps(record))
    for later in (("check",), ("build",), ("init",)):
        assert run(*later).status == 0
        assert files_there() == files_of(EVERYTHING)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("test", "there is no part 'test': did you mean 'tests'? there are: adapters, mcpb, routes, schemas, server"),
        ("tests,shcemas", "there is no part 'shcemas': did you mean 'schemas'? there are: "),
        ("nope", "there is no part 'nope'; there are: adapters, mcpb, routes, schemas, server, tests, utcp"),
        ("", "there is no part ''; there are: "),
        ("tests,", "there is no part ''; there are: "),
        ("\x1b[31mred" + "x" * 500, "there are: adapters"),
    ],
)
@pytest.mark.parametrize("command", ["init", "build"])
def test_a_word_that_is_no_part_is_wrong_usage_and_is_told_which_there_are(
    api: Api, run: Callable[..., Any], command: str, word: str, says: str
) -> None:
    run(*INIT)
    before = files_there()
    done = run(command, "--with", word)
    assert done.status == 2
    assert says in done.err
    assert "--with" in done.err
    assert "\x1b" not in done.err
    assert len(done.err) < 400
    assert files_there() == before


def test_an_edit_in_the_manifest_outlives_a_change_of_the_source(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    edit(lambda document: document["tools"][1].update(description="My dogs."))
    assert "tool.manifest.json is not what would be made now: pegboard toolgen build llm-tooling" in run("check").out
    assert run("build").status == 0
    assert "My dogs." in Path("llm-tooling/skill.md").read_text()
    api.drafts = [draft("/dogs", title="Dogs"), draft("/birds")]
    assert run("init").status == 0
    assert (tools()["get_dogs"]["description"], tools()["get_dogs"]["title"]) == ("My dogs.", "Dogs")
    assert tools().keys() == {"get_dogs", "get_birds"}
    lock = json.loads(Path("llm-tooling/names.lock").read_text())
    assert lock["tombstones"] == {"get_cats": "http:GET /cats"}
    assert run("check").status == 0


def test_a_name_that_a_person_gave_in_the_manifest_or_an_override_is_given_to_no_other_tool(
    api: Api, run: Callable[..., Any]
) -> None:
    Path("llm-tooling/overrides").mkdir(parents=True)
    Path("llm-tooling/overrides/a.json").write_text('{"http:GET /cats": {"name": "get_birds"}}')
    run(*INIT)
    assert tools().keys() == {"get_birds", "get_dogs"}
    assert run(*INIT).out.endswith("nothing changed\n")
    edit(lambda document: document["tools"][1].update(name="get_cows"))
    api.drafts += [draft("/birds"), draft("/cows")]
    done = run("init")
    assert done.status == 0, done.err
    named = {one["id"]: name for name, one in tools().items()}
    assert (named["http:GET /cats"], named["http:GET /dogs"]) == ("get_birds", "get_cows")
    assert named["http:GET /birds"].startswith("get_birds_")
    assert named["http:GET /cows"].startswith("get_cows_")
    assert run(*INIT).out.endswith("nothing changed\n")
    assert run("check").status == 0


def test_a_conflict_is_listed_until_it_is_settled(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    edit(lambda document: document["tools"][1].update(description="My dogs."))
    api.drafts[0] = draft("/dogs", description="Their dogs.")
    done = run("init")
    assert done.status == 1
    assert 'get_dogs /description: yours "My dogs." stays, the source has "Their dogs." now' in done.err
    assert tools()["get_dogs"]["description"] == "My dogs."
    assert run("build").status == 1
    checked = run("check")
    assert checked.status == 1
    assert "yours" in checked.out
    Path("llm-tooling/overrides").mkdir()
    Path("llm-tooling/overrides/mine.json").write_text('{"get_dogs": {"description": "My dogs."}}')
    assert run("build").status == 0
    assert run("check").status == 0


def test_overrides_change_what_is_built_and_nothing_else_does(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT, "--with", "schemas")
    Path("llm-tooling/overrides").mkdir()
    Path("llm-tooling/overrides/a.json").write_text('{"get_dogs": {"risk": "high"}, "http:GET /cats": null}')
    assert "is not what would be made now" in run("check").out
    assert run("build").status == 0
    assert tools().keys() == {"get_dogs"}
    assert tools()["get_dogs"]["risk"] == "high"
    assert {path.name for path in Path("llm-tooling/schemas").iterdir()} == {"get_dogs.schema.json"}
    Path("llm-tooling/overrides/b.json").write_text('{"get_birds": {"risk": "high"}}')
    done = run("build")
    assert done.status == 2
    assert "overrides/b.json: get_birds: there is no such tool" in done.err
    Path("llm-tooling/overrides/b.json").write_text('{"get_dogs": {"risk": "huge"}}')
    assert "what overrides make of it" in run("build").err


def test_a_schema_that_a_person_changed_has_to_fit_its_examples(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    Path("llm-tooling/overrides").mkdir()
    Path("llm-tooling/overrides/a.json").write_text('{"get_dogs": {"input_schema": {"minProperties": 1}}}')
    done = run("build")
    assert done.status == 2
    assert "get_dogs: the input of an example does not fit its input_schema" in done.err
    Path("llm-tooling/overrides/a.json").write_text('{"get_dogs": {"output_schema": {"type": "nonsense"}}}')
    assert "get_dogs: output_schema" in run("build").err


def test_check_says_of_each_difference_how_to_repair_it(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT, "--with", "schemas")
    Path("llm-tooling/README.md").write_text("mine")
    Path("llm-tooling/schemas/get_dogs.schema.json").unlink()
    Path("llm-tooling/mine.txt").write_text("mine")
    done = run("check", "llm-tooling")
    assert done.status == 1
    assert "README.md was changed by hand: put the change into overrides/ or toolgen.toml" in done.out
    assert "schemas/get_dogs.schema.json is missing: pegboard toolgen build llm-tooling" in done.out
    assert "mine.txt" not in done.out
    refused = run("build")
    assert refused.status == 2
    assert "README.md in llm-tooling was changed by hand" in refused.err
    assert run("build", "--replace").status == 0
    assert run("check").status == 0
    assert Path("llm-tooling/mine.txt").read_text() == "mine"


@pytest.mark.parametrize("out", ["llm-tooling", "deep/er/tools", "."])
def test_in_its_own_folder_every_command_means_that_folder(
    api: Api, run: Callable[..., Any], out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*INIT, "--out", out)
    monkeypatch.chdir(out)
    before = {path for path in Path().rglob("*") if path.name != "project.profile.json"}
    done = run("init")
    assert (done.status, done.out.splitlines()[0]) == (0, ".: 2 tools of zoo 1.0, 2 of them read only")
    assert run("init").out.endswith("nothing changed\n")
    assert run("init", "--out", ".").out.endswith("nothing changed\n")
    assert run("try").out.startswith("zoo 1.0: 2 tools")
    assert run("build").out.endswith("nothing changed\n")
    assert run("check").out == ". is as it should be: 2 tools\n"
    assert {path for path in Path().rglob("*") if path.name != "project.profile.json"} == before


def test_check_finds_that_the_source_went_on(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    api.drafts = [draft("/dogs", description="Other dogs."), draft("/birds")]
    done = run("check")
    assert done.status == 1
    assert done.out.splitlines() == [
        "http:GET /birds is new in its source: pegboard toolgen init --out llm-tooling",
        "get_cats is gone from its source (http:GET /cats): pegboard toolgen init --out llm-tooling",
        "get_dogs changed in its source: description: pegboard toolgen init --out llm-tooling",
    ]
    assert run("init", "--out", "llm-tooling").status == 0
    assert run("check").status == 0
    api.version = "1.1"
    assert run("check").out.startswith("the source changed, though no tool did: ")


def test_check_names_hints_whose_tools_the_source_has_no_more(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.drafts = [draft(f"/dogs/{number:02}") for number in range(41)]
    monkeypatch.setattr(commands, "_ask", lambda ranked: [ranked[0][0], ranked[3][0]])
    assert run(*INIT).status == 0
    api.drafts.pop(3)
    done = run("check")
    assert done.status == 1
    assert (
        "hints and source do not fit: toolgen.toml: 1 hint fits nothing: select.include: 'http:GET /dogs/03'"
        in done.out
    )
    assert "then pegboard toolgen init --out llm-tooling" in done.out
    refused = run("init")
    assert refused.status == 2
    assert "'http:GET /dogs/03' fits no tool of the source" in refused.err


def test_a_source_that_cannot_be_reached_is_a_difference_unless_hints_take_it_for_a_note(
    api: Api, run: Callable[..., Any]
) -> None:
    run(*INIT)
    api.fails = "nobody answers"
    done = run("check")
    assert done.status == 1
    assert done.out == (
        "https://api.example.com/spec.json cannot be reached: nobody answers: bring it back, repair it, "
        'or say unreachable = "note" under [check] in toolgen.toml\n'
    )
    Path("llm-tooling/toolgen.toml").write_text(NOTED)
    done = run("check")
    assert done.status == 0
    assert "cannot be reached, nothing is said of its drift: nobody answers" in done.err
    failed = run("init")
    assert (failed.status, failed.err) == (2, "error: nobody answers\nhint: start it\n")
    Path("llm-tooling/toolgen.toml").write_text("what")
    assert run("check").status == 1


def test_a_source_that_its_own_file_names_wrongly_is_a_difference(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    path = Path("llm-tooling/project.profile.json")
    said = json.loads(path.read_text())
    said["sources"].append({"kind": "program", "name": "dog", "inside": "../dog"})
    path.write_text(json.dumps(said))
    done = run("check")
    assert done.status == 1
    assert "project.profile.json names a source that cannot be used: pegboard toolgen init" in done.out


def test_a_source_that_the_system_refuses_is_no_reason_to_stop(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Discovery:
        raise PermissionError(13, "Permission denied")

    run(*INIT)
    monkeypatch.setattr(sources, "discover", refused)
    done = run("check")
    assert done.status == 1
    assert "spec.json cannot be reached: [Errno 13] Permission denied" in done.out


@pytest.mark.parametrize("made", [{}, {"limit": {"type": "integer"}}])
def test_check_says_which_parameter_came_went_or_changed(
    api: Api, run: Callable[..., Any], made: dict[str, Any]
) -> None:
    def taking(**properties: Any) -> list[Draft]:
        schema = {"type": "object", "properties": {**made, **properties}, "additionalProperties": False}
        places = [{"parameter": name, "name": name, "in": "query"} for name in schema["properties"]]
        made_of = {**draft("/dogs").binding, "parameters": places}
        return [draft("/dogs", input_schema=schema, binding=made_of), draft("/cats")]

    api.drafts = taking(age={"type": "integer"}, name={"type": "string"}, kind={"enum": ["a", "b"]})
    run(*INIT)
    api.drafts = taking(age={"type": "string"}, sort={"type": "string"}, kind={"enum": ["a", "c"]})
    done = run("check")
    assert done.status == 1
    assert done.out.splitlines() == [
        "get_dogs changed in its source: parameter age is now string, was integer; "
        'parameter kind takes "c" too, takes "b" no more; parameter name is gone; parameter sort came (string): '
        "pegboard toolgen init --out llm-tooling"
    ]


def spec(name: str, *drafts: Draft, server: str = "api", **more: Any) -> Discovery:
    bound = tuple(attrs.evolve(one, binding={**one.binding, "server": server}) for one in drafts)
    said: dict[str, Any] = {"servers": {server: {"base_url": f"https://{name}.example.com"}}, **more}
    return Discovery(source={"kind": "openapi", "name": name, "version": "1"}, drafts=bound, name="zoo", **said)


@pytest.fixture
def check_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Callable[..., Any]) -> Callable[..., Any]:
    """`check_without(before, now, hints="")`: init with `before`, check with `now`, where None cannot be reached."""
    monkeypatch.chdir(tmp_path)

    def checked(before: dict[str, Discovery], now: dict[str, Discovery | None], hints: str = "") -> Any:
        there: dict[str, Discovery | None] = dict(before)

        def discover(source: Source, base_url: str | None = None) -> Discovery:
            found = there[source.name.rpartition("/")[2]]
            if found is None:
                raise DiscoveryError("nobody answers")
            return found

        monkeypatch.setattr(sources, "discover", discover)
        named = [word for name in before for word in ("--openapi", f"https://example.com/{name}")]
        Path("llm-tooling").mkdir()
        Path("llm-tooling/toolgen.toml").write_text(NOTED + hints)
        done = run("init", *named)
        assert done.status == 0, done.err
        assert run("check").status == 0
        there.update(now)
        return run("check")

    return checked


def test_the_other_sources_are_compared_without_one_that_cannot_be_reached(check_without: Callable[..., Any]) -> None:
    dogs, cats = spec("dogs", draft("/dogs"), draft("/pups"), server="d"), spec("cats", draft("/cats"), server="c")
    gone = spec("dogs", draft("/dogs", description="Other dogs."), draft("/birds"), server="d")
    hints = '[select]\nexclude = ["http:GET /secret"]\n[tools.get_cats]\ntitle = "Cats"\n[servers.c]\nretries = 1\n'
    cats = attrs.evolve(
        cats, drafts=(*cats.drafts, attrs.evolve(cats.drafts[0], id="http:GET /secret", words=("secret",)))
    )
    done = check_without({"dogs": dogs, "cats": cats}, {"dogs": gone, "cats": None}, hints)
    assert "https://example.com/cats cannot be reached, nothing is said of its drift: nobody answers" in done.err
    fix = "pegboard toolgen init --out llm-tooling"
    assert done.out.splitlines() == [
        f"http:GET /birds is new in its source: {fix}",
        f"get_dogs changed in its source: description: {fix}",
        f"get_pups is gone from its source (http:GET /pups): {fix}",
    ]


def test_without_a_source_the_same_others_are_no_drift(check_without: Callable[..., Any]) -> None:
    """Names that had a suffix for both sources have them keep it while one of them is missing."""

    def one(name: str) -> Discovery:
        schema = {"type": "object", "properties": {"pet": {"$ref": "#/$defs/Pet"}}}
        made = draft(f"/{name}", output_schema=schema)
        defs = {"Pet": {"type": "object", "properties": {"name": {"const": name}}}}
        auth = [{"kind": "bearer", "secret_env": "TOKEN"}]
        servers = {"api": {"base_url": f"https://{name}.example.com", "base_url_env": "API_URL", "auth": auth}}
        same = draft("/health")
        return spec(name, made, same, defs=defs, servers=servers)

    both = {"dogs": one("dogs"), "cats": one("cats")}
    done = check_without(both, {"cats": None})
    assert (done.status, done.out) == (0, "llm-tooling is as it should be: 4 tools\n"), done.err
    names = [*manifest()["servers"], *manifest()["$defs"]]
    assert sum(name.startswith(("api-", "Pet-")) for name in names) == 4


def test_nothing_is_said_of_what_is_gone_from_a_server_that_a_missing_source_may_share(
    check_without: Callable[..., Any],
) -> None:
    servers = {"api": {"base_url": "https://example.com"}}
    dogs, cats = spec("dogs", draft("/dogs"), servers=servers), spec("cats", draft("/cats"), servers=servers)
    changed = spec("dogs", draft("/dogs", title="Dogs"), servers=servers)
    done = check_without({"dogs": dogs, "cats": cats}, {"cats": None, "dogs": changed})
    assert done.out.splitlines() == [
        "get_dogs changed in its source: title: pegboard toolgen init --out llm-tooling",
    ]


def test_hints_that_mean_nothing_without_a_missing_source_are_a_note(check_without: Callable[..., Any]) -> None:
    tagged = spec("cats", draft("/cats", tags=("felines",)), server="c")
    hints = '[categories]\nread = ["felines"]\n'
    done = check_without({"dogs": spec("dogs", draft("/dogs"), server="d"), "cats": tagged}, {"cats": None}, hints)
    assert done.status == 0
    assert "note: nothing is said of drift without it, for hints do not fit: toolgen.toml: 1 hint fits" in done.err


def test_many_candidates_are_asked_for(api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    api.drafts = [draft(f"/dogs/{number:02}") for number in range(41)]
    asked: list[int] = []

    def choose(ranked: Sequence[tuple[str, str, str]]) -> list[str]:
        asked.append(len(ranked))
        return [ranked[0][0], ranked[3][0]]

    monkeypatch.setattr(commands, "_ask", choose)
    assert run(*INIT).status == 0
    assert tools().keys() == {"get_dogs_00", "get_dogs_03"}
    assert '"http:GET /dogs/03",' in Path("llm-tooling/toolgen.toml").read_text()
    assert run("init").status == 0
    assert run("check").status == 0
    assert len(tools()) == 2
    assert asked == [41]


def test_forty_candidates_are_taken_unasked(api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    api.drafts = [draft(f"/dogs/{number:02}") for number in range(40)]
    monkeypatch.setattr(commands, "_ask", lambda ranked: pytest.fail("nobody is to be asked"))
    done = run(*INIT)
    assert (done.status, len(tools())) == (0, 40)
    assert "[select]" not in done.err


def test_where_nobody_can_be_asked_all_are_taken_and_the_way_to_choose_is_said(
    api: Api, run: Callable[..., Any]
) -> None:
    api.drafts = [draft(f"/dogs/{number:03}") for number in range(202)]
    done = run(*INIT)
    assert (done.status, len(tools())) == (0, 202)
    assert "all 202 candidates are taken, for nobody is here to choose" in done.err
    assert "under [select] in llm-tooling/toolgen.toml; --all says" in done.err
    hints = Path("llm-tooling/toolgen.toml").read_text()
    assert '#  "http:GET /dogs/000",' in hints
    assert "#  and 2 more: see tools.draft.json" in hints
    assert run("check").status == 0
    again = run(*INIT)
    assert again.out.endswith("nothing changed\n")
    assert "all 202 candidates are taken" in again.err
    assert "candidates are taken" not in run(*INIT, "--all").err
    assert "candidates are taken" not in run(*INIT).err


def test_all_that_a_person_chose_is_all_the_next_time(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.drafts = [draft(f"/dogs/{number:02}") for number in range(41)]
    monkeypatch.setattr(commands, "_ask", lambda ranked: [one[0] for one in ranked])
    assert run(*INIT).status == 0
    api.drafts.append(draft("/dogs/new"))
    assert "http:GET /dogs/new is new in its source" in run("check").out
    assert run("init").status == 0
    assert len(tools()) == 42


def test_all_are_taken_when_told_so_and_that_is_remembered(api: Api, run: Callable[..., Any]) -> None:
    api.drafts = [draft(f"/dogs/{number:02}") for number in range(41)]
    assert run(*INIT, "--all").status == 0
    assert len(tools()) == 41
    assert run("init").status == 0
    assert run("check").status == 0


def test_a_person_at_a_terminal_chooses_by_number(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["0", "nonsense", "1-2, 5"])
    monkeypatch.setattr(commands, "has_person", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    chosen = commands._ask([(f"id{number}", f"name{number}", "does \x1b[2J it") for number in range(6)])
    assert chosen == ["id0", "id1", "id4"]


def test_what_nobody_can_tell_is_asked_once_in_a_list(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.drafts = [
        draft("/dogs/1", category=None, unknown="it runs a program"),
        draft("/dogs/2", category=None),
        draft("/dogs/3"),
    ]
    answers = iter(["0", "2"])
    monkeypatch.setattr(commands, "has_person", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    done = run(*INIT)
    assert "1 get_dogs_1  it runs a program" in done.err
    assert "counts as a write" not in done.err
    assert {name: tool["category"] for name, tool in tools().items()} == {
        "get_dogs_1": "write",
        "get_dogs_2": "read",
        "get_dogs_3": "read",
    }
    assert run("init").out.endswith("nothing changed\n")
    assert run("check").status == 0
    hints = Path("llm-tooling/toolgen.toml")
    hints.write_text(hints.read_text() + '\n[tools.get_dogs_2]\ncategory = "write"\n')
    assert run("init").status == 0
    assert tools()["get_dogs_2"]["category"] == "write"


@pytest.mark.parametrize(("answer", "reads"), [("none", []), ("all", ["get_dogs_1", "get_dogs_2"])])
def test_none_and_all_are_answers(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, answer: str, reads: list[str]
) -> None:
    api.drafts = [draft("/dogs/1", category=None), draft("/dogs/2", category=None)]
    monkeypatch.setattr(commands, "has_person", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: answer)
    assert run(*INIT).status == 0
    assert [name for name, tool in tools().items() if tool["category"] == "read"] == reads


def test_what_nobody_can_tell_and_nobody_is_asked_about_is_named_with_its_reason(
    api: Api, run: Callable[..., Any]
) -> None:
    api.drafts = [draft("/dogs/1", category=None, unknown="it runs a program"), draft("/dogs/2")]
    done = run(*INIT)
    assert "1 tool counts as a write, for nobody can tell: name what only reads" in done.err
    assert "  get_dogs_1: it runs a program\n" in done.err
    assert tools()["get_dogs_1"]["provenance"]["notes"][0] == "whether it reads or writes is unknown: it runs a program"


def test_numbers_and_ranges_are_read() -> None:
    assert commands.numbers_of("all", 3) == [0, 1, 2]
    assert commands.numbers_of("3, 1-2 2", 3) == [0, 1, 2]
    for wrong in ("", "4", "0", "2-1", "1-", "x", "-1"):
        assert commands.numbers_of(wrong, 3) is None, wrong


def test_hints_are_the_persons_and_are_followed(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    text = '[tools.get_dogs]\nname = "dogs"\nexamples = [{ input = {}, output = { dogs = 2 } }]\n'
    Path("llm-tooling/toolgen.toml").write_text(text)
    assert run("init").status == 0
    assert Path("llm-tooling/toolgen.toml").read_text() == text
    assert tools()["dogs"]["examples"] == [{"input": {}, "output": {"dogs": 2}}]
    Path("llm-tooling/toolgen.toml").write_text('[select]\ninclude = ["cow*"]\n')
    done = run("init")
    assert done.status == 2
    assert "select.include: 'cow*' fits no tool of the source" in done.err
    Path("llm-tooling/toolgen.toml").write_text('[select]\nexclude = ["get_*"]\n')
    assert "nothing becomes a tool" in run("init").err


def test_one_bad_operation_costs_that_operation(api: Api, run: Callable[..., Any]) -> None:
    bad = draft("/bad", binding={"kind": "http", "server": "api", "method": "GET", "path": "/bad/{id}"})
    api.drafts.append(bad)
    done = run(*INIT)
    assert done.status == 0
    assert "http:GET /bad: it does not fit the manifest's format" in done.err
    assert tools().keys() == {"get_dogs", "get_cats"}
    draft_file = json.loads(Path("llm-tooling/tools.draft.json").read_text())
    assert [one["id"] for one in draft_file["left_out"]] == ["http:GET /bad"]
    assert run("check").status == 0


def test_a_manifest_written_by_hand_is_built_and_stays(api: Api, run: Callable[..., Any]) -> None:
    run(*INIT)
    document = {key: value for key, value in manifest().items() if key != "fingerprint"}
    hand = Path("hand")
    (hand / "overrides").mkdir(parents=True)
    (hand / "tool.manifest.json").write_text(json.dumps(document))
    example = [{"op": "add", "path": "/examples/-", "value": {"input": {}, "description": "again"}}]
    (hand / "overrides" / "a.json").write_text(json.dumps({"get_dogs": example, "get_cats": None}))
    assert run("build", "hand").status == 0
    first = manifest("hand")
    assert [one["name"] for one in first["tools"]] == ["get_dogs"]
    assert len(first["tools"][0]["examples"]) == 2
    assert run("build", "hand").out.endswith("nothing changed\n")
    assert run("check", "hand").status == 0


def test_what_is_in_the_way_is_left_alone(api: Api, run: Callable[..., Any]) -> None:
    Path("llm-tooling").mkdir()
    Path("llm-tooling/README.md").write_text("mine")
    done = run(*INIT)
    assert done.status == 2
    assert "README.md in llm-tooling is not ours and in the way" in done.err
    assert [path.name for path in Path("llm-tooling").iterdir()] == ["README.md"]


def test_the_folder_is_what_out_names_or_one_of_the_project(api: Api, run: Callable[..., Any], tmp_path: Path) -> None:
    Path("project").mkdir()
    init = ("init", "project", "--openapi", "https://x/y")
    assert run(*init).status == 0
    assert (tmp_path / "project" / "llm-tooling" / "tool.manifest.json").exists()
    assert run(*init, "--out", "tools/here").status == 0
    assert (tmp_path / "tools" / "here" / "tool.manifest.json").exists()
    assert run(*init, "--out", "project").status == 0
    assert (tmp_path / "project" / "tool.manifest.json").exists()


def test_a_folder_elsewhere_is_kept_as_any_other_and_names_no_place_of_the_project(
    api: Api, run: Callable[..., Any], tmp_path: Path
) -> None:
    elsewhere = str(tmp_path.parent / f"{tmp_path.name}-elsewhere" / "out")
    assert run(*INIT, "--out", elsewhere).status == 0
    assert run("check", elsewhere).status == 0
    assert "nothing changed" in run("init", "--out", elsewhere).out
    assert json.loads(Path(elsewhere, "project.profile.json").read_text())["levels"] == 0


@pytest.mark.parametrize(("out", "argv0", "cwd"), [("llm-tooling", "../greet", ".."), ("../out", "greet", ".")])
def test_a_program_of_the_project_is_called_where_it_lies_from_a_folder_inside_alone(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, argv0: str, cwd: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    program = folder / "greet"
    program.write_text("#!/bin/sh\necho 'usage: greet [--loud]\n\n  --loud  say it loud'\n")
    program.chmod(0o755)
    monkeypatch.chdir(folder)
    done = run("init", "--program", "./greet", "--out", out)
    assert done.status == 0, done.err
    made = json.loads(Path(out, "tool.manifest.json").read_text())["programs"]["greet"]
    assert (made["argv0"], made["cwd"]) == ([argv0], cwd)


def test_a_project_is_classified_and_a_source_that_fails_is_told(
    api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "zoo"\nversion = "3"\n[project.scripts]\nzoo = "zoo:main"\n')
    Path("openapi.json").write_text('{"openapi": "3.1.0"}')
    discover = api.discover

    def some(source: Source, base_url: str | None = None) -> Discovery:
        if source.kind == "program":
            raise DiscoveryError("zoo is not on PATH")
        return discover(source, base_url)

    monkeypatch.setattr(sources, "discover", some)
    done = run("init", ".", "--base-url", "https://zoo.example.com")
    assert done.status == 0, done.err
    assert "note: program:zoo: zoo is not on PATH" in done.err
    said = json.loads(Path("llm-tooling/project.profile.json").read_text())
    assert said["project"] == manifest()["project"]
    assert said["project"]["type"] == "http-api"
    assert said["project"]["version"] == "3"
    assert [one["file"] for one in said["markers"]] == ["pyproject.toml", "openapi.json"]
    assert said["sources"][1] == {
        "kind": "openapi",
        "name": "openapi.json",
        "inside": "openapi.json",
        "base_url": "https://zoo.example.com",
    }
    assert run("check").status == 0
    assert run("init", ".", "--type", "http-api", "--runtime", "go").status == 0
    assert manifest()["project"]["runtime"] == "go"
    before = manifest()
    assert run("init").status == 0
    assert manifest() == before
    assert run("init", "--runtime", "rust").status == 0
    assert manifest()["project"]["runtime"] == "rust"


def test_a_project_without_anything_says_what_it_could_be_given(api: Api, run: Callable[..., Any]) -> None:
    Path("app.py").write_text('@app.get("/dogs")\ndef dogs(): ...\n')
    done = run("init", ".")
    assert done.status == 2
    assert "only 1 route that no OpenAPI document covers" in done.err
    assert "--program NAME, --library NAME or --openapi FILE|URL" in done.err
    assert "could be called in-process" in run("init", ".", "--execution-model", "in-process").err
    assert "cannot run in-process" in run("init", ".", "--execution-model", "in-process", "--runtime", "node").err


ROUTES = '@app.get("/birds")\ndef birds(): ...\n@app.get("/dogs/")\ndef dogs(): ...\n@app.post("/dogs")\n'


def test_routes_that_no_document_covers_are_named_where_somebody_asks(api: Api, run: Callable[..., Any]) -> None:
    Path("app.py").write_text(ROUTES)
    words = ("init", ".", "--openapi", "https://x/y")
    profile = Path("llm-tooling/project.profile.json")
    assert "GET /birds" not in run(*words).err
    assert "not_covered" not in json.loads(profile.read_text())
    for again in ((*words, "--with", "routes"), ("init",)):
        done = run(*again)
        assert done.status == 0
        assert "2 routes without an OpenAPI document, not covered:" in done.err
        assert "  GET /birds (app.py:1)" in done.err
        assert json.loads(profile.read_text())["not_covered"] == [
            {"method": "GET", "path": "/birds", "where": "app.py:1"},
            {"method": "POST", "path": "/dogs", "where": "app.py:5"},
        ]
    run("init", "--lean")
    assert "not_covered" not in json.loads(profile.read_text())


def test_build_leaves_routes_to_init_and_says_so(api: Api, run: Callable[..., Any]) -> None:
    Path("app.py").write_text(ROUTES)
    Path("openapi.json").write_text('{"openapi": "3.1.0"}')
    assert run("init", ".").status == 0
    assert "note: routes are looked for by the next init of a project's folder" in run("build", "--with", "routes").err
    assert "looked for" not in run("build").err
    assert "2 routes without an OpenAPI document" in run("init").err


def test_routes_beside_sources_that_were_named_alone_are_not_looked_for(api: Api, run: Callable[..., Any]) -> None:
    Path("app.py").write_text(ROUTES)
    done = run(*INIT, "--with", "routes")
    assert "note: routes are looked for by the next init of a project's folder" in done.err
    assert "GET /birds" not in done.err + run("init").err
    assert "not_covered" not in json.loads(Path("llm-tooling/project.profile.json").read_text())


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("names.lock", "{}", "names.lock is not one"),
        ("tools.draft.json", "[]", "tools.draft.json is not a JSON object"),
        ("tools.draft.json", '{"generated": {"tools": [1]}}', "tools.draft.json is not what was written"),
        (".toolgen/base.json", '{"tools": {}}', "base.json is not what was written"),
        ("tool.manifest.json", "{", "tool.manifest.json cannot be read"),
        ("tool.manifest.json", '{"manifest_version": "2.0"}', "2.0"),
        (".toolgen/outputs.json", "[]", "outputs.json is not what was written"),
        (".toolgen/outputs.json", '{"files": {}, "with": "tests"}', "outputs.json is not what was written"),
        (".toolgen/outputs.json", '{"files": {}, "with": ["a2a"]}', "names a part that is not known here: a2a"),
    ],
)
def test_a_file_of_ours_that_was_broken_is_named(
    api: Api, run: Callable[..., Any], name: str, text: str, says: str
) -> None:
    run(*INIT)
    Path("llm-tooling", name).write_text(text)
    for command in (("build",), ("check",), INIT):
        done = run(*command)
        assert done.status == 2
        assert says in done.err


def test_no_credential_of_an_address_is_written_down(api: Api, run: Callable[..., Any]) -> None:
    run("init", "--openapi", "https://ada:hunter2@api.example.com/spec.json?token=hunter2")
    written = b"".join(path.read_bytes() for path in Path("llm-tooling").rglob("*") if path.is_file())
    assert b"hunter2" not in written
    assert b"https://api.example.com/spec.json" in written


@pytest.mark.parametrize("url", ["https://ada:hunter2@x.example.com", "https://x?token=hunter2", "ftp://x", "x"])
def test_a_base_url_is_a_plain_address(api: Api, run: Callable[..., Any], url: str) -> None:
    done = run(*INIT, "--base-url", url)
    assert done.status == 2
    assert "--base-url is an http or https address" in done.err
    assert "hunter2" not in done.err


def test_texts_of_the_source_reach_no_terminal_raw(api: Api, run: Callable[..., Any]) -> None:
    api.drafts.append(draft("/x\x1b[2J", binding={"kind": "http", "server": "nope", "method": "GET", "path": "/x"}))
    done = run(*INIT)
    assert "\x1b" not in done.err + done.out


def test_a_folder_that_holds_nothing_is_said(api: Api, run: Callable[..., Any]) -> None:
    assert "there is no folder llm-tooling" in run("build").err
    Path("empty").mkdir()
    assert "empty holds no tool.manifest.json" in run("check", "empty").err


def test_the_folder_may_be_the_current_one(api: Api, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    run(*INIT)
    monkeypatch.chdir("llm-tooling")
    assert run("check").status == 0
    assert run("build").status == 0


def test_an_example_that_a_person_can_type() -> None:
    def one(name: str, given: Any, category: str = "read", risk: str = "low") -> dict[str, Any]:
        said = {"name": name, "category": category, "risk": risk, "idempotency": "unknown"}
        return {**said, "examples": [{"input": given}], "binding": {"kind": "python"}}

    reader = one("a", {"x": "a b", "n": 1})
    for other in (one("b", {}, "write"), one("b", {}, "read", "high")):
        assert example_command({"tools": [other, reader]}) == "call a 'x=a b' n:=1"
    assert example_command({"tools": [one("a", {"x": "y" * 200})]}) is None
