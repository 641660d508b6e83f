"""Recording what tools answer, and answering from that: a tool that needs the network is tested without it.

The module is a plugin of the core's own, which is loaded where `[plugins.record]` says something: `--record` does. Its
layer lies around the work of every tool, whatever that is - a server's, a request, a program: guards, validation and
filters run at a replay as they do at a call, and what a recording holds is what came from the tool.

    {"pegboard_recording": 1,
     "tools": {NAME: definition},           # of sources, which need not be there when it is replayed
     "calls": [{"name", "arguments", "results": [{"content", "data", "error", "details"}]}]}

The file is the same for the same answers: calls stand in the order of their names and arguments, and nothing of one
run - an id, a time - is in it. Secrets are masked before anything is written.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard._values import Value
from pegboard.config import replace_file, setting, write_hint
from pegboard.contract import Finding, Layer
from pegboard.errors import ConfigError, ErrorCode, PegboardError, Retry, ToolError
from pegboard.hookspecs import hookimpl
from pegboard.results import ToolResult
from pegboard.secrets.shapes import is_distinct
from pegboard.secrets.texts import with_texts_of
from pegboard.secrets.written import MASKED, named_secrets, text_without_secrets, without_secrets
from pegboard.tools import READ_RESULT_NAME, Annotations, Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard.context import CallContext
    from pegboard.contract import CallNext, Check, SourceSlot

VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
"""A larger file is not a recording."""
MAX_NAMED = 5
LOCK_TRIES, LOCK_PAUSE_S = 100, 0.01
_CACHE_DETAILS = frozenset(("cache", "cache_age_s"))
"""What of the details is of one run alone."""


@attrs.frozen(eq=False, repr=False)
class RecordSettings(Value):
    """`[plugins.record]`.

    .. versionadded:: 0.1
    """

    file: str | None = setting(
        None, widens=True, beside_file=True, help="the recording: what tools answer is added to it, or taken from it"
    )
    mode: Literal["record", "replay"] = setting(
        "record", widens=True, help="record: run tools and note their answers; replay: answer from the file alone"
    )


@hookimpl
def provide_settings() -> type[RecordSettings]:
    """`file` and `mode`."""
    return RecordSettings


@hookimpl
def provide_sources(settings: RecordSettings) -> Iterable[RecordedSource] | None:
    """At a replay, the tools of sources that were recorded, where nobody else brings them."""
    if settings.file is None or settings.mode != "replay":
        return None
    return [RecordedSource(Path(settings.file))]


@hookimpl
def make_layers(tool: Tool, settings: RecordSettings) -> Layer | None:
    """A layer around every tool, but for `read_result`, which reads what a session holds."""
    if settings.file is None or tool.name == READ_RESULT_NAME:
        return None
    return Layer("record", _record if settings.mode == "record" else _replay)


@hookimpl
def open_resources(settings: RecordSettings) -> AbstractAsyncContextManager[Recording] | None:
    """The recording, which is written when the host ends."""
    return None if settings.file is None else _open(Path(settings.file), writes=settings.mode == "record")


@hookimpl
def provide_checks(settings: RecordSettings) -> Iterable[Check]:
    """Where calls are recorded or replayed: nobody should take the one for the other, or for neither."""
    return [lambda board: _findings(settings)]


def _findings(settings: RecordSettings) -> Iterator[Finding]:
    if settings.file is not None:
        told = {"record": "what tools answer is added to", "replay": "no tool runs: calls are answered from"}
        why = f"{told[settings.mode]} {settings.file}"
        yield Finding(f"calls are {settings.mode}ed", "[plugins.record]", why, "remove the section to end that", "note")


@contextlib.asynccontextmanager
async def _open(path: Path, *, writes: bool) -> AsyncIterator[Recording]:
    recording = Recording.read(path) if path.exists() or not writes else Recording(path)
    if not writes:
        yield recording
        return
    recording.write()  # that it cannot be written is said before anything is called
    try:
        yield recording
    finally:
        recording.write()


async def _record(context: CallContext, arguments: Mapping[str, Any], call_next: CallNext) -> ToolResult:
    result = await call_next()
    context.resource(Recording).note(context.tool, arguments, result, (*context.secrets_read, *_known_to(context)))
    return result


def _known_to(context: CallContext) -> Iterator[str]:
    """What the tool declares, and what the host knows as secrets, in every form in which that may stand in a text."""
    yield from (value for name in context.tool.secrets if (value := os.environ.get(name)))
    yield from context.session.host.board.known_forms()


async def _replay(context: CallContext, arguments: Mapping[str, Any], call_next: CallNext) -> ToolResult:
    return context.resource(Recording).answer(context.tool, arguments)


class RecordedSource:
    """Offers the tools of sources as they were recorded: their servers need not be there.

    .. versionadded:: 0.1
    """

    name = "recorded"

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> list[Tool]:
        """The tools, before anything runs."""
        return Recording.read(self._path).make_tools()

    async def run(self, slot: SourceSlot) -> None:
        """Offer them for as long as the host runs."""
        import trio

        slot.replace(self.known())
        await trio.sleep_forever()


class Recording:
    """The answers of tools, by their names and arguments.

    Args:
        path: of the file.
        calls: what it holds: for each call its name, its arguments, and its results in their order.
        tools: the definitions of tools of sources.

    .. versionadded:: 0.1
    """

    def __init__(
        self, path: Path, calls: Iterable[Mapping[str, Any]] = (), tools: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self._path = path
        self._calls = {_key(one["name"], one["arguments"]): dict(one) for one in calls}
        self._tools = dict(tools or {})
        self._heard: set[str] = set()  # what was called in this run, which takes the place of what was there
        self._given: dict[str, int] = {}

    @classmethod
    def read(cls, path: Path) -> Recording:
        """The recording of a file.

        Raises:
            ConfigError: it is not there, or is not a recording.
        """
        try:
            about = path.stat()
            if about.st_size > MAX_BYTES:
                raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
            if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
                raise ValueError("it is not a regular file")  # a pipe, a device: a file would replace it
            said = json.loads(path.read_bytes())
            version = said.get("pegboard_recording") if isinstance(said, dict) else None
            if version is None:
                raise ValueError("it does not say pegboard_recording")
            if version != VERSION:
                raise ValueError(f"it has the form {str(version)[:20]}, and this version reads {VERSION}")
            recording = cls(path, said["calls"], said.get("tools"))
            for call in recording._calls.values():
                _check(call)
            recording.make_tools()
        except OSError as problem:
            first = "record it first: pegboard call --record FILE, or pytest --pegboard-record"
            raise ConfigError(
                f"the recording {path} cannot be read: {problem.strerror or problem}",
                hint=first if isinstance(problem, FileNotFoundError) else "name another file",
            ) from problem
        except (PegboardError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise ConfigError(
                f"{path} is not a recording: {str(problem)[:200] or type(problem).__name__}", hint="name another file"
            ) from problem
        return recording

    def write(self) -> None:
        """Put the file in place, whole or not at all, with what others have added to it meanwhile.

        Raises:
            ConfigError: it cannot be written, or is not a recording any more.
        """
        with _held(self._path.parent):
            if self._path.exists():
                beside = Recording.read(self._path)
                heard = {key: self._calls[key] for key in self._heard}
                self._calls, self._tools = beside._calls | heard, beside._tools | self._tools
            self._put()

    def _put(self) -> None:
        said = {
            "pegboard_recording": VERSION,
            "tools": self._tools,
            "calls": [self._calls[key] for key in sorted(self._calls)],
        }
        text = json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        try:
            replace_file(self._path, text.encode("utf-8", "surrogatepass"))
        except OSError as problem:
            raise ConfigError(
                f"the recording {self._path} cannot be written: {problem.strerror or problem}",
                hint=write_hint(problem, "name a file in a folder that may be written"),
            ) from problem

    def note(self, tool: Tool, arguments: Mapping[str, Any], result: ToolResult, secrets: tuple[str, ...]) -> None:
        """Add what a tool answered, without these secrets and without what looks like one. An answer like the one
        before it is there already."""
        from pegboard.secrets.texts import masked

        told = filter(is_distinct, named_secrets(_plain_result(result)))
        hidden = tuple(sorted({*secrets, *named_secrets(arguments), *told}, key=len, reverse=True))
        asked = without_secrets(arguments, hidden)
        answer = without_secrets(_plain_result(masked(result, hidden)), hidden)
        if tool.origin.source is not None:
            self._tools[tool.name] = with_texts_of(tool.public_definition, partial(text_without_secrets, hidden=hidden))
        key = _key(tool.name, asked)
        if key not in self._heard:
            self._heard.add(key)
            self._calls[key] = {"name": tool.name, "arguments": asked, "results": []}
        results = self._calls[key]["results"]
        if not results or results[-1] != answer:
            results.append(answer)

    def answer(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        """What was recorded of a call: one answer after the other, and from then on the last.

        Raises:
            ToolError: NOT_FOUND, reason `not_recorded`: such a call was not recorded.
        """
        key = self._find(tool.name, without_secrets(arguments))
        if key is None:
            raise self._not_recorded(tool.name, arguments)
        results, given = self._calls[key]["results"], self._given.get(key, 0)
        self._given[key] = given + 1
        return ToolResult.from_json(results[min(given, len(results) - 1)])

    def _find(self, name: str, arguments: Any) -> str | None:
        """The call of these arguments, or else one that they fit where a secret was masked."""
        key = _key(name, arguments)
        if key in self._calls:
            return key
        calls = self._calls.items()
        return next((key for key, one in calls if one["name"] == name and _fits(one["arguments"], arguments)), None)

    def _not_recorded(self, name: str, arguments: Mapping[str, Any]) -> ToolError:
        known = [_to_json(one["arguments"]) for one in self._calls.values() if one["name"] == name]
        shown = "; ".join(text[:200] for text in known[:MAX_NAMED]) + ("; ..." if len(known) > MAX_NAMED else "")
        return ToolError(
            ErrorCode.NOT_FOUND,
            f"the call {name} {_to_json(arguments)[:500]} was not recorded in {self._path.name}; "
            + (f"recorded of this tool: {shown}" if known else "no call of this tool was")
            + "; record it with pytest --pegboard-record or --record",
            reason="not_recorded",
            retry=Retry.NEVER.value,
        )

    def make_tools(self) -> list[Tool]:
        """The tools of sources, as they were defined when they were recorded."""
        return [_make_tool(definition) for definition in self._tools.values()]


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, so that of two programs that end at once each adds to what the other wrote; after a
    while it goes on without it, and where there is no such lock, as on Windows, at once."""
    try:
        import fcntl

        number = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(LOCK_PAUSE_S)
        yield
    finally:
        os.close(number)


def _check(call: Mapping[str, Any]) -> None:
    """Require that a call is one, with an answer: people edit recordings.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it is not a call.
    """
    name, arguments, results = call["name"], call["arguments"], call["results"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError("a call needs a name and arguments, which are an object")
    if not isinstance(results, list) or not results:
        raise ValueError(f"the call {name[:80]!r} has no results")
    for result in results:
        ToolResult.from_json(result)


def _make_tool(definition: Mapping[str, Any]) -> Tool:
    async def never(**arguments: Any) -> None:
        raise AssertionError("a replay answers for its tools")

    said = {**definition, "annotations": Annotations(**definition.get("annotations", {}))}
    return Tool(handler=never, tags={"recorded"}, results="raw", **said)


def _plain_result(result: ToolResult) -> dict[str, Any]:
    """A result as JSON, without what is of this run alone."""
    line = result.to_json()
    details = {key: value for key, value in (result.details or {}).items() if key not in _CACHE_DETAILS}
    kept = {key: line[key] for key in ("content", "data", "error")}
    return {**kept, "details": details} if details else kept


def _fits(recorded: Any, given: Any) -> bool:
    """Whether arguments are those that were recorded, where `***` stands for any text."""
    if isinstance(recorded, str) and isinstance(given, str):
        return recorded == given or _fits_text(recorded.split(MASKED), given)
    if isinstance(recorded, dict) and isinstance(given, dict):
        return recorded.keys() == given.keys() and all(_fits(recorded[name], given[name]) for name in recorded)
    if isinstance(recorded, list) and isinstance(given, (list, tuple)):
        return len(recorded) == len(given) and all(map(_fits, recorded, given))
    return type(recorded) is type(given) and bool(recorded == given)


def _fits_text(parts: list[str], given: str) -> bool:
    """Whether a text begins with the first part, ends with the last, and has the others between them in their order."""
    if len(parts) == 1 or not given.startswith(parts[0]) or not given[len(parts[0]) :].endswith(parts[-1]):
        return False
    at, end = len(parts[0]), len(given) - len(parts[-1])
    for part in parts[1:-1]:
        found = given.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _key(name: str, arguments: Any) -> str:
    return f"{name} {_to_json(arguments)}"
