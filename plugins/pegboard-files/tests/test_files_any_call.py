"""Whatever a model asks the file tools, the answer is typed, and nothing outside of the root is shown or changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, open_host
from pegboard_files.plugin import FilesPlugin

NAMES = [
    *("..", ".", "", "d", "f", "link", "to_d", "private", "key", "to_private", "pipe", "loop", "secret.txt", "outside"),
    *("a\nb", "\\", "\u202e", "é", "x" * 255, "~", "proc", "\0", "\ud800", "*", "CON"),
]
PATHS = st.tuples(
    st.sampled_from(["", "/", "./", "{root}/", "{root}/../"]), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)
).map(lambda parts: parts[0] + "/".join(parts[1]))
PATTERNS = st.lists(
    st.sampled_from([*"()a+*?[]\\d|^$.{}!,-/é", "**", "..", "(?i)", "{1,9}", "\\1", "\0", "\ud800"]), max_size=6
).map("".join)
TEXTS = st.sampled_from(["", "mine", "h\ne", "\ud800", "hello", "l"])
EDITS = st.lists(
    st.fixed_dictionaries({"old_text": TEXTS, "new_text": TEXTS}, optional={"replace_all": st.booleans()}), max_size=2
)
CALLS = st.one_of(
    st.tuples(
        st.just("read_file"),
        st.fixed_dictionaries(
            {"path": PATHS},
            optional={
                "offset": st.integers(-1, 3),
                "limit": st.integers(0, 3) | st.none(),
                "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "rot13", "\ud800"]),
            },
        ),
    ),
    st.tuples(
        st.just("write_file"),
        st.fixed_dictionaries({"path": PATHS, "content": TEXTS}, optional={"create_dirs": st.booleans()}),
    ),
    st.tuples(
        st.just("edit_file"),
        st.fixed_dictionaries({"path": PATHS, "edits": EDITS}, optional={"dry_run": st.booleans()}),
    ),
    st.tuples(
        st.just("list_directory"), st.fixed_dictionaries({}, optional={"path": PATHS, "recursive": st.booleans()})
    ),
    st.tuples(st.just("search_files"), st.fixed_dictionaries({}, optional={"path": PATHS, "pattern": PATTERNS})),
    st.tuples(
        st.just("search_text"),
        st.fixed_dictionaries(
            {"pattern": PATTERNS}, optional={"path": PATHS, "glob": PATTERNS, "literal": st.booleans()}
        ),
    ),
)


def snapshot(folder: Path) -> dict[str, str]:
    return {one.name: one.read_text() if one.is_file() else "" for one in folder.iterdir()}


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(st.lists(CALLS, min_size=1, max_size=12))
def test_any_call_is_answered_and_nothing_outside_is_shown_or_changed(
    root: Path, opening: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Any arguments give a result or a typed error that names no path of the host; what is outside stays as it was."""
    if not (root / "d").exists():
        (root / "d").mkdir()
        (root / "d" / "f").write_text("hello\n")
        (root / "private").mkdir()
        (root / "private" / "key").write_text("SECRET")
        for name, target in [("link", "../outside"), ("to_d", "d"), ("to_private", "private"), ("loop", "loop")]:
            (root / name).symlink_to(target)
        os.mkfifo(root / "pipe")
    outside, private = snapshot(root.parent / "outside"), snapshot(root / "private")
    config = {"plugins": {"files": {"roots": [str(root)], "denied_paths": ["private"], "ripgrep": ""}}}

    async def ask_all() -> None:
        async with open_host(config, [FilesPlugin(opening)]) as host:
            session = host.session()
            for name, arguments in calls:
                said = {key: value.replace("{root}", str(root)) if key == "path" else value
                        for key, value in arguments.items()}  # fmt: skip
                result = await session.call(name, said, timeout_s=20)
                shown = str([block.to_json() for block in result.content])
                assert "SECRET" not in shown
                if result.error is not None:
                    assert result.error.code not in (ErrorCode.INTERNAL_ERROR, ErrorCode.TIMEOUT), (name, said)
                    assert str(root) in str(said) or str(root.parent) not in shown

    trio.run(ask_all)
    assert (snapshot(root.parent / "outside"), snapshot(root / "private")) == (outside, private)
    assert sorted(one.name for one in root.parent.iterdir()) == ["outside", "root"]
