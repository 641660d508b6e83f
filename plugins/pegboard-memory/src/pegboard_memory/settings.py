"""What a person may configure: `[plugins.memory]`, and the file that it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import setting
from pegboard.config import above_zero, user_folder

if TYPE_CHECKING:
    from pegboard_memory._place import Place


def _a_file(_: Any, field: attrs.Attribute[Any], value: str | None) -> None:
    if value is not None:
        from pegboard_memory._place import path_of

        path_of(value)


@attrs.frozen
class MemorySettings:
    """`[plugins.memory]`.

    .. versionadded:: 0.1
    """

    url: str | None = setting(
        None,
        widens=True,
        secret=True,  # somebody may try a URL with a password in it; the fault must not show that
        validator=_a_file,
        help="where the memories are, as sqlite:///memory.db; by default memory.db in the user's data folder",
    )
    max_memories: int = setting(
        100_000, stricter="lower", validator=above_zero, help="how many memories one user may have"
    )
    semantic: bool = setting(True, help="search by meaning too, where the extra pegboard-memory[semantic] is installed")
    model: str | None = setting(
        None, widens=True, help="a folder with model.onnx and tokenizer.json, instead of the packaged model"
    )


def place_of(settings: MemorySettings) -> Place:
    """The file that the settings mean."""
    from pegboard_memory._place import FILE_NAME, Place, path_of

    if settings.url is not None:
        return Place(path_of(settings.url).absolute())
    return Place(user_folder("data") / FILE_NAME, make_folder=True)
