"""The tools: arguments in, a thread around, a result out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from pegboard import CallContext, Example, Tool, ToolResult, tool
from pegboard.schema import Ge, Le, MaxLen, MinLen
from pegboard_files._schema import Edit, Edited, FilesFound, LinesFound, Listed, Read, Written
from pegboard_files.settings import PathPermissions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard_files._places import Files, Scope
    from pegboard_files._walking import Budget


T = TypeVar("T")

CATEGORY = "file"
_MAX_MEDIA_RESULT = 8_000_000  # a cut image is useless; its own cap is max_binary_bytes
_MAX_LIST_RESULT = 1_000_000  # bounded by max_entries
_PATIENCE = 0.8
"""The part of a deadline after which a long work ends with what it has."""


@tool(
    title="Read a file",
    category=CATEGORY,
    tags=("files", "read"),
    read_only=True,
    idempotent=True,
    open_world=False,
    max_result_bytes=_MAX_MEDIA_RESULT,
    permissions=PathPermissions,
    examples=(
        Example({"path": "README.md"}, "a whole file"),
        Example({"path": "README.md", "limit": 5}, "its first lines"),
    ),
)
async def read_file(
    context: CallContext,
    path: str,
    encoding: str = "utf-8",
    offset: Annotated[int, Ge(0)] = 0,
    limit: Annotated[int, Ge(1)] | None = None,
) -> Annotated[ToolResult, Read]:
    """Read a file: text as it stands there, images and sound as such.

    Long text comes in parts; the answer says with which offset to read on.

    Args:
        path: the file, as in notes/today.md.
        encoding: utf-8, or what the file is in, such as latin-1, windows-1252, utf-16 or shift-jis.
        offset: how many lines to pass over; 0 begins at the first.
        limit: how many lines to show.
    """
    from pegboard_files import _reading as reading
    from pegboard_files._codecs import find_codec
    from pegboard_files._names import parse

    asked, codec = parse(path), find_codec(encoding)

    def work(files: Files, scope: Scope) -> ToolResult:
        settings = files.settings
        caps = reading.Caps(settings.max_text_bytes, settings.max_read_bytes, settings.max_binary_bytes)
        return reading.read(scope, asked, codec, offset, limit, caps, _check)

    return await _run(context, work)


@tool(
    title="Write a file",
    category=CATEGORY,
    tags=("files", "write"),
    destructive=True,
    idempotent=True,
    open_world=False,
    risk="medium",
    permissions=PathPermissions,
    examples=(Example({"path": "output/notes.txt", "content": "Hello\n", "create_dirs": True}, "a new file"),),
)
async def write_file(
    context: CallContext, path: str, content: str, create_dirs: bool = False
) -> Annotated[ToolResult, Written]:
    """Write a text file as UTF-8, whole: what stood there before is replaced.

    Args:
        path: the file, as in output/notes.txt.
        content: all of its text; line ends are written as they are.
        create_dirs: whether to make the folders that are missing.
    """
    from pegboard_files import _writing as writing
    from pegboard_files._names import parse

    asked = parse(path)
    data = content.encode("utf-8")

    def work(files: Files, scope: Scope) -> ToolResult:
        if len(data) > files.settings.max_write_bytes:
            from pegboard_files._faults import too_large

            raise too_large(asked, len(data), files.settings.max_write_bytes, "nothing was written")
        return writing.write(scope, asked, data, create_dirs, _check)

    return await _run(context, work)


@tool(
    title="Edit a file",
    category=CATEGORY,
    tags=("files", "write"),
    destructive=True,
    open_world=False,
    risk="medium",
    permissions=PathPermissions,
    examples=(
        Example(
            {"path": "notes.txt", "edits": [{"old_text": "teh", "new_text": "the"}], "dry_run": True},
            "show what an edit would change",
        ),
    ),
)
async def edit_file(
    context: CallContext,
    path: str,
    edits: Annotated[list[Edit], MinLen(1), MaxLen(100)],
    dry_run: bool = False,
    encoding: str = "utf-8",
) -> Annotated[ToolResult, Edited]:
    """Replace exact pieces of text in a file, and show what changed as a unified diff.

    All edits are made or none. Everything else in the file stays as it is, line ends included.

    Args:
        path: the file.
        edits: one after the other; each old_text has to occur exactly once, unless replace_all is set.
        dry_run: whether to show the diff and write nothing.
        encoding: what the file is in.
    """
    from pegboard_files import _editing as editing
    from pegboard_files._codecs import find_codec
    from pegboard_files._names import parse

    asked, codec = parse(path), find_codec(encoding)

    def work(files: Files, scope: Scope) -> ToolResult:
        most = files.settings.max_write_bytes
        return editing.edit_file(scope, asked, edits, codec, dry_run, most, _check)

    return await _run(context, work)


@tool(
    title="List a folder",
    category=CATEGORY,
    tags=("files", "read"),
    read_only=True,
    idempotent=True,
    open_world=False,
    max_result_bytes=_MAX_LIST_RESULT,
    permissions=PathPermissions,
    examples=(Example({}, "the first root"), Example({"path": ".", "recursive": False}, "one level of a folder")),
)
async def list_directory(
    context: CallContext, path: str = ".", recursive: bool = False
) -> Annotated[ToolResult, Listed]:
    """List what a folder holds: names, types, sizes, times.

    Args:
        path: the folder.
        recursive: whether to list what its folders hold, too.
    """
    from pegboard_files import _walking as walking
    from pegboard_files._names import parse

    asked = parse(path)
    budget = _budget(context)

    def work(files: Files, scope: Scope) -> ToolResult:
        return walking.list_folder(scope, asked, recursive, files.settings.max_entries, budget(files))

    return await _run(context, work)


@tool(
    title="Find files",
    category=CATEGORY,
    tags=("files", "search", "read"),
    read_only=True,
    idempotent=True,
    open_world=False,
    max_result_bytes=_MAX_LIST_RESULT,
    permissions=PathPermissions,
    examples=(Example({"pattern": "*.md"}, "by name, however deep"), Example({"pattern": "docs/**/*.md"}, "by path")),
)
async def search_files(context: CallContext, path: str = ".", pattern: str = "*") -> Annotated[ToolResult, FilesFound]:
    """Find files and folders by a glob, in a folder and all below it.

    Args:
        path: the folder to search.
        pattern: a glob for names, such as *.py or test_*.{py,txt}; with a slash, for paths below the folder, such as
            src/**/*.py. Case counts.
    """
    from pegboard_files import _walking as walking
    from pegboard_files._globs import Glob
    from pegboard_files._names import parse

    asked, glob = parse(path), Glob(pattern)
    budget = _budget(context)

    def work(files: Files, scope: Scope) -> ToolResult:
        return walking.search_names(scope, asked, pattern, glob, files.settings.max_entries, budget(files))

    return await _run(context, work)


@tool(
    title="Search in files",
    category=CATEGORY,
    tags=("files", "search", "read"),
    read_only=True,
    idempotent=True,
    open_world=False,
    max_result_bytes=_MAX_LIST_RESULT,
    permissions=PathPermissions,
    examples=(
        Example({"pattern": "TODO", "glob": "*.md"}, "a word in some files"),
        Example({"pattern": "^## ", "path": "README.md"}, "in one file"),
    ),
)
async def search_text(
    context: CallContext,
    pattern: str,
    path: str = ".",
    glob: str | None = None,
    ignore_case: bool = False,
    literal: bool = False,
    context_lines: Annotated[int, Ge(0), Le(10)] = 0,
    limit: Annotated[int, Ge(1), Le(1000)] = 100,
) -> Annotated[ToolResult, LinesFound]:
    """Find lines in text files by a regular expression.

    Hidden and binary files are passed over, and what .gitignore names.

    Args:
        pattern: a regular expression, without look-around or backreferences.
        path: the folder to search with all below it, or one file.
        glob: only files that fit it, such as *.py.
        ignore_case: whether case does not matter.
        literal: whether the pattern is the very text to find.
        context_lines: how many lines to show around each match.
        limit: how many matches to show.
    """
    import trio

    from pegboard_files import _grepping as grepping
    from pegboard_files import _ripgrep as ripgrep
    from pegboard_files._globs import Glob
    from pegboard_files._names import parse
    from pegboard_files._places import Files

    files = context.resource(Files)
    asked = parse(path)
    compiled = grepping.compile_wanted(pattern, ignore_case=ignore_case, literal=literal)
    files_glob = None if glob is None else Glob(glob)
    max_bytes = files.settings.max_search_bytes
    wanted = grepping.Wanted(compiled, files_glob, context_lines, limit, max_bytes)
    budget = _budget(context)(files)

    found = await _run(context, lambda files, scope: grepping.search_in_file(scope, asked, wanted, budget))
    if found is not None:
        return grepping.shown_matches(asked, found, "own")
    if files.ripgrep is not None:
        command = ripgrep.arguments(
            files.ripgrep,
            pattern,
            ignore_case=ignore_case,
            literal=literal,
            max_bytes=max_bytes,
            deny_secrets=files.settings.deny_secrets,
        )
        folder = await _run(context, lambda files, scope: scope.open_folder(asked)[1])
        try:
            patience_s = (min(context.deadline, trio.current_time() + 60) - trio.current_time()) / 2
            named = await ripgrep.candidates(
                command,
                folder.fd,
                patience_s,
                # Not how many it named: some may be denied, and what stands in them would show.
                lambda _: context.progress(0, None, "ripgrep is looking for files"),
            )
        finally:
            folder.close()
        if named is not None:
            names, more = named
            found = await _run(
                context, lambda files, scope: grepping.search_candidates(scope, asked, names, wanted, budget)
            )
            found.truncated |= more
            return grepping.shown_matches(asked, found, "ripgrep")
    found = await _run(context, lambda files, scope: grepping.search_folder(scope, asked, wanted, budget))
    return grepping.shown_matches(asked, found, "own")


TOOLS: tuple[Tool, ...] = (read_file, write_file, edit_file, list_directory, search_files, search_text)


async def _run(context: CallContext, work: Callable[[Files, Scope], T]) -> T:
    """Do what blocks in a thread of the file tools, within what this tool may use."""
    from pegboard_files._places import Files

    files = context.resource(Files)
    name, permissions = context.tool.name, context.permissions
    return await files.run(lambda: work(files, files.scope(name, permissions)))


def _check() -> None:
    """In a thread: raises `trio.Cancelled` once nobody waits for it any more."""
    import trio

    trio.from_thread.check_cancelled()


def _budget(context: CallContext) -> Callable[[Files], Budget]:
    """What a long work of this call may use; made in the loop, where its deadline is known."""
    import time

    import trio

    from pegboard_files._walking import Budget

    until = time.monotonic() + _PATIENCE * min(context.deadline - trio.current_time(), 3600.0)

    def report(seen: int) -> None:
        context.progress_sync(seen, None, f"{seen} files and folders looked at")

    return lambda files: Budget(files.settings.max_scanned, until, _check, report)


__all__ = ["TOOLS", "edit_file", "list_directory", "read_file", "search_files", "search_text", "write_file"]
