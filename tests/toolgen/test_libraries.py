"""What the tools of humanize and textdistance answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

PUBLIC = {
    "activate", "apnumber", "clamp", "deactivate", "decimal_separator", "fractional", "intcomma", "intword",
    "metric", "natural_list", "naturaldate", "naturalday", "naturaldelta", "naturalsize", "naturaltime",
    "ordinal", "precisedelta", "scientific", "thousands_separator",
}  # fmt: skip
"""The functions of humanize."""


def test_numbers_are_said_in_words(humanize: Any) -> None:
    calls = [
        ("humanize_intcomma", {"value": 1_000_000}),
        ("humanize_naturalsize", {"value": 3_000_000}),
        ("humanize_ordinal", {"value": 103}),
        ("humanize_apnumber", {"value": 4}),
        ("humanize_fractional", {"value": 0.3}),
        ("humanize_metric", {"value": 1500, "unit": "V"}),
        ("humanize_naturaldate", {"value": "2007-06-05"}),
        ("humanize_precisedelta", {"value": 3633}),
    ]
    results = humanize.batch(calls)
    assert [one["data"] and one["data"].get("result") for one in results] == [
        "1,000,000",
        "3.0 MB",
        "103rd",
        "four",
        "3/10",
        "1.50 kV",
        "Jun 05 2007",
        "1 hour and 33 seconds",
    ]


def test_every_public_function_is_a_tool(humanize: Any) -> None:
    tools = {one["binding"]["qualified_name"].rsplit(".", 1)[1] for one in humanize.manifest["tools"]}
    assert tools == PUBLIC


def test_all_algorithms_are_tools(textdistance: Any) -> None:
    """38 callable instances; of two texts each takes them by name or as any number of sequences."""
    tools = {one["name"]: one for one in textdistance.manifest["tools"]}
    del tools["textdistance_find_ngrams"]  # a function
    assert len(tools) == 38
    spread = {
        name for name, one in tools.items() if [way["pass"] for way in one["binding"]["parameters"]] == ["spread"]
    }
    assert len(spread) > 20
    of_two = [
        (one, {"sequences": ["test", "text"]} if one in spread else {"s1": "test", "s2": "text"}) for one in tools
    ]
    results = textdistance.batch([*of_two, ("textdistance_hamming", {"sequences": ["test", "text", "tent"]})])
    assert [one["name"] for one in results if not one["ok"]] == []
    said = {one["name"]: one["data"]["result"] for one in results[:-1]}
    assert (said["textdistance_levenshtein"], said["textdistance_hamming"], said["textdistance_lcsseq"]) == (
        1,
        1,
        "tet",
    )
    assert said["textdistance_jaccard"] == 0.6
    assert results[-1]["data"] == {"result": 1}


def test_work_without_end_is_ended(textdistance: Any) -> None:
    """A thread could not be: the override gave this tool a process."""
    sequences = ["1" * 30, "01" * 20, "001" * 15, "0001" * 10]
    ended = textdistance.call("textdistance_lcsseq", {"sequences": sequences})
    assert ended["error"]["code"] == "TIMEOUT"
    assert not ended["error"]["details"].get("still_running")


def test_reordering_and_deleting_functions_leaves_every_name_on_its_binding(
    humanize: Any, run_init: Callable[..., Any], tmp_path: Path
) -> None:
    """A copy of the library whose `__all__` is shorter, and the other way round."""
    where = Path(humanize.env["PYTHONPATH"])
    for folder in where.glob("humanize*"):
        shutil.copytree(folder, tmp_path / "lib" / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    init = tmp_path / "lib" / "humanize" / "__init__.py"
    text, names = init.read_text(), sorted(PUBLIC)
    gone = names[::4]
    begin, end = text.index("__all__ = ["), text.index("]", text.index("__all__ = ["))
    kept = [name for name in reversed(names) if name not in gone]
    text = f"{text[:begin]}__all__ = {kept!r}{text[end + 1 :]}"
    for name in gone:
        text = text.replace(f"    {name},\n", "")
    init.write_text(text)
    env = {**humanize.env, "PYTHONPATH": str(tmp_path / "lib")}
    done = run_init(tmp_path / "out", humanize.arguments, env, tmp_path)
    assert done.returncode == 0, done.stderr
    left = {one["id"]: one for one in json.loads((tmp_path / "out" / "tool.manifest.json").read_text())["tools"]}
    was = {one["id"]: one for one in humanize.manifest["tools"]}
    assert set(left) == {f"python:humanize.{name}" for name in kept}
    assert {key: (one["name"], one["binding"], one["input_schema"]) for key, one in left.items()} == {
        key: (was[key]["name"], was[key]["binding"], was[key]["input_schema"]) for key in left
    }


def test_what_is_not_an_argument_is_the_callers_fault(humanize: Any) -> None:
    refused = humanize.call("humanize_naturalsize", {"value": []})
    assert refused["error"]["code"] == "INVALID_INPUT"
