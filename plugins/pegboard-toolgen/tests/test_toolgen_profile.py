"""A project's type, runtime and execution model from its marker files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_toolgen.profile import (
    Profile,
    Source,
    profile_project,
    project_of,
    refuse_impossible,
    to_json,
    wanted_sources,
)
from pegboard_toolgen.routes import find_routes
from pegboard_toolgen.sources import sources_of


def kinds_of(profile: Profile) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source in profile.sources:
        found.setdefault(source.kind, []).append(source.name)
    return found


def test_a_python_project_has_programs_and_packages(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "dogs"\nversion = "1.2"\ndescription = "About\\ndogs"\n'
            '[project.scripts]\ndogs = "dogs:main"\n',
            "src/dogs/__init__.py": "",
            "src/_private/__init__.py": "",
            "src/data/x.txt": "",
        },
    )
    profile = profile_project(tmp_path)
    assert (profile.name, profile.version, profile.description, profile.runtime) == (
        "dogs",
        "1.2",
        "About dogs",
        "python",
    )
    assert kinds_of(profile) == {"program": ["dogs"], "library": ["dogs"]}
    assert [one.file for one in profile.markers] == ["pyproject.toml", "src"]
    library = profile.sources[1]
    assert library.search_paths == (str(tmp_path / "src"),)
    assert library.to_json() == {"kind": "library", "name": "dogs", "inside": "src"}


def test_a_program_that_the_project_built_is_found_where_it_lies(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path,
        {"Cargo.toml": '[package]\nname = "dogs"\nversion = "1.0.0"\n', "src/main.rs": "", "target/release/dogs": ""},
    )
    (tmp_path / "target/release/dogs").chmod(0o755)
    source = profile_project(tmp_path).sources[0]
    assert (source.name, source.inside) == ("dogs", "target/release/dogs")
    assert source.where == str(tmp_path / "target/release/dogs")


SETUP = """
import os, setuptools
POINTS = {"console_scripts": "p = d:main"}
NAME = "dogs"
os.abort()
setuptools.setup(name=NAME, version="1.2", description=os.environ["X"], entry_points=%s)
"""


@pytest.mark.parametrize(
    ("files", "runtime", "programs"),
    [
        (
            {
                "setup.cfg": "[metadata]\nname = dogs\nversion = attr: d.v\n"
                "[options.entry_points]\nconsole_scripts =\n  d = d:m\n"
            },
            "python",
            ["d"],
        ),
        ({"package.json": '{"name": "@x/dogs", "version": "1.0.0", "bin": "cli.js"}'}, "node", ["dogs"]),
        ({"package.json": '{"name": "dogs", "bin": {"b": "b.js", "a": "a.js", "--evil": "x"}}'}, "node", ["a", "b"]),
        ({"go.mod": "module example.com/x/dogs/v2\n", "main.go": ""}, "go", ["dogs"]),
        ({"go.mod": "module example.com/dogs\n", "cmd/one/main.go": "", "cmd/two/main.go": ""}, "go", ["one", "two"]),
        ({"Cargo.toml": '[package]\nname = "dogs"\n[[bin]]\nname = "d"\n'}, "rust", ["d"]),
        ({"pom.xml": "<x/>"}, "java", []),
        ({"Dogs.csproj": "<x/>"}, "dotnet", []),
        ({"Gemfile": ""}, "ruby", []),
        ({"composer.json": "{}"}, "php", []),
        ({"setup.py": "import os; os.abort()"}, "python", []),
        ({"setup.py": SETUP % '{"console_scripts": ["d = d:main", "e=d:other", 3], "x": NAMES}'}, "python", ["d", "e"]),
        ({"setup.py": SETUP % '"[console_scripts]\\nd = d:main\\n[other]\\ne = d:x\\n"'}, "python", ["d"]),
        ({"setup.py": SETUP % "POINTS"}, "python", ["p"]),
        ({"setup.py": SETUP % "read_points()"}, "python", []),
        ({"pyproject.toml": '[tool.poetry]\nname = "dogs"\n[tool.poetry.scripts]\nd = "d:m"\n'}, "python", ["d"]),
        ({"setup.cfg": "[flake8]\nx = 1\n"}, "other", []),
        ({}, "other", []),
    ],
)
def test_each_marker_says_its_runtime_and_programs(
    tmp_path: Path, files: dict[str, str], runtime: str, programs: list[str], put_files: Any
) -> None:
    profile = profile_project(put_files(tmp_path, files))
    assert profile.runtime == runtime
    assert kinds_of(profile).get("program", []) == programs


def test_a_setup_py_is_read_as_it_is_written_and_not_run(tmp_path: Path, put_files: Any) -> None:
    profile = profile_project(put_files(tmp_path, {"setup.py": SETUP % "POINTS"}))
    assert (profile.name, profile.version, profile.description) == ("dogs", "1.2", "")
    assert profile.markers[0].says == "a Python project, read and not run; programs: p"


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml"])
def test_a_marker_that_cannot_be_read_costs_itself(tmp_path: Path, name: str, put_files: Any) -> None:
    put_files(tmp_path, {name: "]{ \x00", "openapi.json": '{"openapi": "3.0.0"}'})
    profile = profile_project(tmp_path)
    assert [note for note in profile.notes if name in note]
    assert kinds_of(profile) == {"openapi": ["openapi.json"]}


def test_a_marker_that_is_too_large_or_leads_elsewhere_is_not_read(tmp_path: Path, put_files: Any) -> None:
    outside = put_files(tmp_path / "outside", {"secret.toml": '[project]\nname = "secret"\n'})
    project = put_files(tmp_path / "project", {"Cargo.toml": "#" * 2_000_001})
    (project / "pyproject.toml").symlink_to(outside / "secret.toml")
    profile = profile_project(project)
    assert profile.name == ""
    assert [note for note in profile.notes if "Cargo.toml has more than" in note]


def test_openapi_documents_are_found_by_name_and_content(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path,
        {
            "openapi.yaml": "openapi: 3.1.0\n",
            "docs/swagger.json": '{"swagger": "2.0"}',
            "openapi.json": "{}",
            "node_modules/x/openapi.json": '{"openapi": "3.0.0"}',
            ".git/openapi.json": '{"openapi": "3.0.0"}',
            "api/pets.openapi.yml": "'openapi': '3.0.1'",
            "a/b/c/d/e/openapi.json": '{"openapi": "3.0.0"}',
        },
    )
    profile = profile_project(tmp_path)
    assert sorted(kinds_of(profile)["openapi"]) == ["api/pets.openapi.yml", "docs/swagger.json", "openapi.yaml"]


def test_a_folder_that_was_made_of_the_project_is_not_part_of_it(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path,
        {
            "tools/tool.manifest.json": "{}",
            "tools/adapters/openapi.json": '{"openapi": "3.1.0"}',
            "tools/adapters/app.py": '@app.get("/no")\n',
        },
    )
    profile = profile_project(tmp_path)
    assert profile.sources == ()
    assert list(find_routes(tmp_path)) == []
    document = '{"openapi": "3.1.0"}'
    put_files(tmp_path, {"tool.manifest.json": "{}", "adapters/openapi.json": document, "api/openapi.json": document})
    assert [one.name for one in profile_project(tmp_path).sources] == ["api/openapi.json"]


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        profile_project(tmp_path / "nothing")


def test_type_and_execution_model_narrow_the_sources() -> None:
    profile = Profile(sources=tuple(Source(kind=kind, name=kind) for kind in ("program", "library", "openapi")))
    assert len(wanted_sources(profile, None, None)) == 3
    assert [one.kind for one in wanted_sources(profile, "http-api", None)] == ["openapi"]
    assert [one.kind for one in wanted_sources(profile, None, "in-process")] == ["library"]
    assert len(wanted_sources(profile, "mixed", "mixed")) == 3


@pytest.mark.parametrize(
    ("type_", "runtime", "model", "says"),
    [
        (None, "node", "in-process", "cannot run in-process"),
        ("library", "go", None, "cannot be called from Python"),
        ("program", None, "remote-http", "do not go together"),
    ],
)
def test_what_cannot_be_is_refused(type_: str | None, runtime: str | None, model: str | None, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        refuse_impossible(type_, runtime, model)


def test_what_can_be_is_not_refused() -> None:
    refuse_impossible(None, "python", "in-process")
    refuse_impossible("program", "rust", "subprocess")


def test_a_project_of_several_sources_is_mixed() -> None:
    project = project_of(
        Profile(),
        {"program", "library"},
        None,
        "other",
        "dogs",
        name="dogs\x1b[0m",
        version="",
        description="d" * 5_000,
    )
    assert (project["type"], project["execution_model"], project["runtime"]) == ("mixed", "mixed", "other")
    assert "\x1b" not in project["name"]
    assert "version" not in project
    assert len(project["description"]) == 4_000


def test_the_profile_as_it_is_kept_names_no_path_of_the_machine(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path, {"pyproject.toml": '[project]\nname = "dogs"\n[project.scripts]\nd = "d:m"\n', "dogs/__init__.py": ""}
    )
    profile = profile_project(tmp_path)
    said = to_json(profile, {"name": "dogs"}, profile.sources, None, 1, {})
    assert str(tmp_path) not in str(said)
    assert os.sep + "dogs" not in str(said["sources"])


@settings(max_examples=20)
@given(
    name=st.sampled_from(
        ["pyproject.toml", "setup.cfg", "package.json", "go.mod", "Cargo.toml", "openapi.json", "app.py"]
    ),
    content=st.binary(max_size=60)
    | st.sampled_from(
        [
            b"[project]\nname = 1\nscripts = [1]\n",
            b"[package]\nname = []\n[[bin]]\nx = 1\n",
            b'{"bin": {"a": 1}, "name": []}',
            b"module \x1b[2J\n",
            b"[metadata]\nname = %(x)s\n",
            b"@app.get('\xff\xfe')",
            b'{"openapi": 3',
            b"bin = 1\n",
        ]
    ),
)
def test_any_bytes_in_a_marker_give_a_profile(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    """Whatever stands in a marker file, a profile comes out, and nothing in it steers a terminal."""
    root = tmp_path_factory.mktemp("project")
    (root / name).write_bytes(content)
    profile = profile_project(root)
    said = [profile.name, profile.version, profile.description]
    assert not any("\x1b" in text for text in [*said, *(one.says for one in profile.markers)])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(["program", "../x", "/etc", "openapi"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["sources", "kind", "name", "inside", "base_url"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=50)
@given(said=JSON)
def test_sources_of_any_profile_stay_in_the_project(said: object) -> None:
    """A profile that was tampered with leads to no path outside of its project."""
    for source in sources_of(said if isinstance(said, dict) else {"sources": said}, Path("/project")):
        if source.inside:
            assert Path(os.path.normpath(source.where or source.search_paths[0])).is_relative_to("/project")
