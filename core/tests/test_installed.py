"""Installed plugins are found as `importlib.metadata` finds them, without its cost."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import PluginError
from pegboard._installed import Installed, installed_plugins


def standard() -> list[tuple[str, str, str | None, str | None]]:
    """What the standard library says, in the same order."""
    found = []
    for entry in importlib.metadata.entry_points(group="pegboard"):
        assert entry.dist is not None
        found.append((entry.name, entry.value, entry.dist.metadata["Name"], entry.dist.metadata["Version"]))
    return sorted(found, key=lambda one: (one[0], one[2] or ""))


def put(folder: Path, info: str, entries: str | bytes | None, metadata: str | None = None) -> None:
    """A distribution's metadata in a folder of the path."""
    path = folder / info
    path.mkdir(parents=True)
    if entries is not None:
        raw = entries if isinstance(entries, bytes) else entries.encode()
        (path / "entry_points.txt").write_bytes(raw)
    if metadata is not None:
        (path / ("METADATA" if info.endswith(".dist-info") else "PKG-INFO")).write_text(metadata, encoding="utf-8")


def metadata_of(name: str, version: str = "1.0") -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: a\n\nName: not a header\n"


def test_what_is_installed_here_is_what_the_standard_library_finds() -> None:
    assert [tuple(one) for one in installed_plugins()] == standard()
    assert {"validator"}.isdisjoint(one.name for one in installed_plugins())


@pytest.mark.parametrize(
    "entries",
    [
        "[pegboard]\ncoin = pegboard_coin\n",
        "[console_scripts]\ncoin = coin:main\n[pegboard]\n# a comment\n\n  coin =  pegboard_coin:plugin [extra] \n",
        "[pegboard]\nb = b\na = a.b:c.d\n[other]\nc = c\n",
        "[pegboard.sub]\ncoin = pegboard_coin\n",
        "coin = pegboard_coin\n",
        "",
        None,
    ],
)
@pytest.mark.parametrize(
    "info", ["pegboard_coin-1.0.dist-info", "Pegboard.Coin-1.0.egg-info", "pegboard_coin.dist-info"]
)
def test_entry_points_are_read_as_the_standard_library_reads_them(
    info: str, entries: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, info, entries, metadata_of("pegboard-coin"))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert [tuple(one) for one in installed_plugins()] == standard()


_LINES = st.lists(
    st.sampled_from(
        [
            "[pegboard]",
            "[console_scripts]",
            "[ pegboard ]",
            "",
            "#a = b",
            "coin = pegboard_coin",
            "x=y:z",
            " b = c ",
            "a = b = c",
        ]
    ),
    max_size=8,
)


@given(lines=_LINES, newline=st.sampled_from(["\n", "\r\n"]))
def test_any_file_of_entry_points_gives_what_the_standard_library_gives(lines: list[str], newline: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        put(Path(folder), "coin-1.0.dist-info", newline.join(lines), metadata_of("coin"))
        patch.setattr(sys, "path", [folder])
        assert [tuple(one) for one in installed_plugins()] == standard()


@pytest.fixture(params=["read", "asked"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the path alone, and with a finder beside that may offer distributions too."""
    if request.param == "asked":

        class Finder:
            @staticmethod
            def find_spec(name: str, path: object = None, target: object = None) -> None:
                return None

            @staticmethod
            def find_distributions(context: object = None) -> list[Any]:
                return []

        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])


@pytest.mark.usefixtures("_either_way")
def test_the_first_of_two_copies_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "one", "pegboard_coin-1.0.dist-info", "[pegboard]\ncoin = first\n", metadata_of("pegboard-coin"))
    put(tmp_path / "two", "Pegboard_Coin-2.0.dist-info", "[pegboard]\ncoin = second\n", metadata_of("pegboard-coin"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "one"), str(tmp_path / "two")])
    assert [one.value for one in installed_plugins()] == ["first"] == [one[1] for one in standard()]


@pytest.mark.usefixtures("_either_way")
def test_a_distribution_that_does_not_say_its_name_keeps_its_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "coin-1.0.dist-info", "[pegboard]\ncoin = pegboard_coin\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/nowhere"])
    assert installed_plugins() == [Installed("coin", "pegboard_coin", None, None)]


@pytest.mark.usefixtures("_either_way")
def test_a_file_that_is_not_text_costs_its_own_distribution_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "bad-1.0.dist-info", b"[pegboard]\nbad\xff = b\xffd\n", metadata_of("bad"))
    put(tmp_path, "coin-1.0.dist-info", "[pegboard]\ncoin = pegboard_coin\n", metadata_of("coin"))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    *bad, coin = installed_plugins()
    assert coin == Installed("coin", "pegboard_coin", "coin", "1.0")
    for one in bad:
        with pytest.raises(PluginError, match="expected 'module' or 'module:object'"):
            one.load()


def test_plugins_in_an_archive_on_the_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "coin.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("coin-1.0.dist-info/METADATA", metadata_of("coin"))
        file.writestr("coin-1.0.dist-info/entry_points.txt", "[pegboard]\ncoin = pegboard_coin\n")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert installed_plugins() == [Installed("coin", "pegboard_coin", "coin", "1.0")]


def test_what_another_finder_offers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Offered(importlib.metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return {"METADATA": metadata_of("coin"), "entry_points.txt": "[pegboard]\ncoin = coin\n"}.get(filename)

        def locate_file(self, path: Any) -> Path:
            return Path(path)

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            return None

        @staticmethod
        def find_distributions(context: object = None) -> list[Offered]:
            return [Offered()]

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert Installed("coin", "coin", "coin", "1.0") in installed_plugins()


@pytest.mark.parametrize(
    ("value", "expected"), [("json", "json"), ("json:loads", "loads"), (" os.path : join.__name__ [a, b]", "join")]
)
def test_an_entry_point_loads_its_module_or_what_the_module_holds(value: str, expected: str) -> None:
    loaded = Installed("one", value.strip(), None, None).load()
    assert getattr(loaded, "__name__", loaded) == expected


@pytest.mark.parametrize("value", ["", "a b", "a:b:c", "a-b", "a:", "/etc/passwd"])
def test_an_entry_point_that_names_no_module_is_refused(value: str) -> None:
    with pytest.raises(PluginError, match="expected 'module' or 'module:object'"):
        Installed("one", value, None, None).load()


def test_plugins_are_found_without_reading_the_metadata_of_other_distributions(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path, f"other{number}-1.0.dist-info", None, metadata_of(f"other{number}"))
    put(tmp_path, "pegboard_coin-1.0.dist-info", "[pegboard]\ncoin = pegboard_coin\n", metadata_of("pegboard-coin"))
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and str(args[0]).endswith("METADATA") and opened.append(args[0]))
from pegboard._installed import installed_plugins
sys.path[:] = sys.argv[1:]
found = installed_plugins()
print(len(found), len(opened), "importlib.metadata" in sys.modules, "email" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1", "False", "False"]
