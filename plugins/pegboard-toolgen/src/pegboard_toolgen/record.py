"""Example outputs of tools that read, by running them: twice, and what does not come out the same is not kept.

A tool is run where it changes nothing (`read` or `analytics`, and no high risk) and is reached by a program or inside
of Python; over HTTP where its server is on this machine, or a person asked for it. Both runs are on a board in a child
process that sees no secret, in a project folder of its own, which holds copies of the files that the example names.
The second has another hash seed, another time zone, another folder, and in Python another day. An answer is kept if
both are equal, it is small, and it holds no path of this machine and no date of today.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_manifest import is_loopback, is_read_only
from pegboard_toolgen._progress import say
from pegboard_toolgen._texts import counted, to_bytes, to_line
from pegboard_toolgen.assemble import is_made_up
from pegboard_toolgen.folder import MANIFEST
from pegboard_toolgen.samples import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard_toolgen.folder import Folder

Json = Any
MAX_CALLS = 300
MAX_OUTPUT = 20_000
MAX_ANSWERS = 32_000_000
MAX_FILE = 5_000_000
MAX_FILES = 50
ALL_S = 180.0
SHIFT_S = 431 * 86_400 + 7 * 3_600
_NUMBER = re.compile(r"(?<![\d.])\d{10}(?:\d{3})?(?![\d])")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@attrs.frozen
class _Call:
    """One input of one example; an example that was made up has several, and the first that answers is kept."""

    tool: int
    example: int
    name: str
    input: Mapping[str, Json]


def record(
    document: Mapping[str, Any], folder: Folder, *, remote: bool = False, programs: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The manifest with outputs of its read tools, and sentences that say what was done.

    Args:
        document: a manifest without fingerprints.
        folder: where it will lie; files that examples name are copied from there.
        remote: call servers that are elsewhere too.
        programs: variables beside: where programs are that are not on PATH, and packages that are not installed.

    .. versionadded:: 0.1
    """
    calls = _calls(document, remote=remote)
    if not calls:
        return dict(document), []
    say(f"recording what {counted(len(calls), 'example')} answer")
    kept = {name: os.environ[name] for name in _variables(document) if name in os.environ}
    kept.update(programs or {})
    first = _run(document, calls, folder, kept, place="a", seed="1", zone="UTC", shift=0)
    zone = "Pacific/Kiritimati"
    second = _run(document, calls, folder, kept, place="another-place", seed="4242", zone=zone, shift=SHIFT_S)
    if first is None or second is None:
        return dict(document), ["no outputs of examples were recorded: the tools could not be run here"]
    tools = [dict(tool) for tool in document["tools"]]
    done: set[tuple[int, int]] = set()
    for call, one, other in zip(calls, first, second, strict=True):
        if (call.tool, call.example) in done or one is None or other is None:
            continue
        if to_line(one) != to_line(other) or not is_timeless(one["data"]):
            continue
        done.add((call.tool, call.example))
        tool = tools[call.tool]
        examples = list(tool["examples"])
        said = {**examples[call.example], "input": call.input, "output": one["data"], "recorded": True}
        examples[call.example] = said
        tool["examples"] = examples
    notes = [f"{counted(len(done), 'output')} of examples recorded"] if done else []
    return {**document, "tools": tools}, notes


def may_run(tool: Mapping[str, Any], document: Mapping[str, Any], *, remote: bool) -> bool:
    """Whether a tool may be run to record what it answers."""
    if not is_read_only(tool):
        return False
    binding = tool["binding"]
    if binding["kind"] == "http":
        return remote or _is_here(document["servers"][binding["server"]])
    if binding["kind"] == "python":  # a process of its own would have the true day
        isolate = binding.get("run") or document["modules"][binding["module"]].get("isolate")
        return bool(isolate != "process")
    program = document["programs"][binding["program"]]
    return not any(Path(path).is_absolute() for path in (program.get("cwd", "."), *program.get("allowed_paths", ())))


def _is_here(server: Mapping[str, Any]) -> bool:
    """Whether calls of a server stay on this machine: its variable, which the child gets too, goes before its URL."""
    try:
        host = urlsplit(os.environ.get(server.get("base_url_env", "")) or server["base_url"]).hostname
    except ValueError:
        return False
    return is_loopback(host or "")


def _calls(document: Mapping[str, Any], *, remote: bool) -> list[_Call]:
    """Every example without an output, and behind them other inputs for those that were made up."""
    calls, others = [], []
    for index, tool in enumerate(document["tools"]):
        if not may_run(tool, document, remote=remote):
            continue
        for number, example in enumerate(tool["examples"]):
            if "output" not in example:
                calls.append(_Call(index, number, tool["name"], example["input"]))
                if is_made_up(tool) and tool["binding"]["kind"] == "python":
                    samples = samples_of(tool["input_schema"], document.get("$defs"))
                    others += [_Call(index, number, tool["name"], one) for one in samples if one != example["input"]]
    return [*calls, *others][:MAX_CALLS]


def is_timeless(value: Json) -> bool:
    """Whether a value says nothing of this machine or this day, as far as its text shows."""
    text = to_line(value)
    if len(text) > MAX_OUTPUT:
        return False
    machine = {os.path.expanduser("~"), tempfile.gettempdir(), sys.prefix, str(Path.cwd())} - {"/", ""}  # noqa: PTH111
    if any(place in text for place in machine):
        return False
    now = datetime.datetime.now(datetime.UTC)
    for days in (-1, 0, 1):
        day = now + datetime.timedelta(days=days)
        month = _MONTHS[day.month - 1]
        signs = (
            day.strftime("%Y-%m-%d"), day.strftime("%Y%m%d"), day.strftime("%Y/%m/%d"), day.strftime("%d/%m/%Y"),
            day.strftime("%m/%d/%Y"), day.strftime("%d.%m.%Y"), f"{month} {day.day}", f"{month} {day.day:02}",
            f"{day.day} {month}", f"{day.day:02} {month}",
        )  # fmt: skip
        if any(sign in text for sign in signs):
            return False
    stamps = (int(number[:10]) for number in _NUMBER.findall(text))
    return not any(abs(stamp - now.timestamp()) < 2 * 86_400 for stamp in stamps)


# -- one run


def _run(
    document: Mapping[str, Any],
    calls: Sequence[_Call],
    folder: Folder,
    kept: Mapping[str, str],
    *,
    place: str,
    seed: str,
    zone: str,
    shift: int,
) -> list[Json] | None:
    """What each call answered, `{"data": ...}` or None; None where the tools could not be run at all."""
    from pegboard_toolgen.discover._child import run_child

    with tempfile.TemporaryDirectory(prefix="toolgen-record-", ignore_cleanup_errors=True) as root:
        top = Path(root, place)
        out = (
            top.joinpath("project", *(["d"] * (_levels(document) - 1)), "tools") if _levels(document) else top / "tools"
        )
        out.mkdir(parents=True)
        (out / MANIFEST).write_bytes(to_bytes(document))
        _copy_files(document, calls, folder, out)
        said = top / "calls.json"
        said.write_bytes(to_bytes([[call.name, call.input] for call in calls]))
        words = [sys.executable, "-m", "pegboard_toolgen._recorder", "{fd}", str(out / MANIFEST), str(said), str(shift)]
        extra = {**kept, "PYTHONHASHSEED": seed, "TZ": zone, "HOME": str(top), "TMPDIR": str(top)}
        try:
            finished = run_child(words, deadline_s=ALL_S, max_bytes=MAX_ANSWERS, extra_environment=extra, answers=True)
        except OSError:
            return None
        lines = finished.answer.split(b"\n")[:-1]
        answers = [None if root.encode() in line else _read(line) for line in lines]
        if not answers and finished.status != 0:
            return None
        return [*answers, *[None] * (len(calls) - len(answers))][: len(calls)]


def _read(line: bytes) -> Json:
    try:
        return loads(line)
    except JsonTextError:
        return None


def _variables(document: Mapping[str, Any]) -> list[str]:
    """What the child may see of our environment: where Python's packages and the programs are."""
    named = [one["argv0_env"] for one in document.get("programs", {}).values() if "argv0_env" in one]
    servers = [one["base_url_env"] for one in document.get("servers", {}).values() if "base_url_env" in one]
    return ["PYTHONPATH", "VIRTUAL_ENV", *named, *servers]


def _levels(document: Mapping[str, Any]) -> int:
    """How far above the manifest's folder programs work."""
    return max(
        (Path(one.get("cwd", ".")).parts.count("..") for one in document.get("programs", {}).values()), default=0
    )


def _copy_files(document: Mapping[str, Any], calls: Sequence[_Call], folder: Folder, out: Path) -> None:
    """The files that examples name, small ones of the project, and the folders that programs work in."""
    copied = 0
    for call in calls:
        binding = document["tools"][call.tool]["binding"]
        if binding["kind"] != "subprocess":
            continue
        cwd = document["programs"][binding["program"]].get("cwd", ".")
        here, there = (folder.path / cwd).resolve(), (out / cwd).resolve()
        there.mkdir(parents=True, exist_ok=True)
        for text in _path_values(binding, call.input):
            source, target = (here / text).resolve(), (there / text).resolve()
            inside = source.is_relative_to(here) and target.is_relative_to(there)
            if not inside or copied >= MAX_FILES or target.exists():
                continue
            try:
                if source.is_file() and source.stat().st_size <= MAX_FILE:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, target)
                    copied += 1
            except OSError:
                continue


def _texts_in(value: Json) -> Iterable[str]:
    """A text, or those of a list, or of a list of lists: an option of several words that is said several times."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts_in(one)


def _path_values(binding: Mapping[str, Any], given: Mapping[str, Json]) -> Iterable[str]:
    for argument in binding["arguments"]:
        rules = argument.get("values", (argument.get("value", {}),))
        if argument["kind"] in ("option", "positional") and any(rule.get("format") == "path" for rule in rules):
            for text in _texts_in(given.get(argument["parameter"])):
                if text and "\0" not in text and len(text) < 1_000:
                    yield text
