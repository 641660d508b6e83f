"""LangChain tools of the manifest beside this folder. Every call goes through the board, with its guards and limits.

    from langchain_tools import open_tools

    with open_tools() as tools:
        agent = create_agent(model, tools)

Needs langchain-core, pegboard and pegboard-manifest.
"""

# mypy: disable-error-code="import-not-found,misc,unused-ignore"

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool, ToolException

from pegboard import open_host_sync
from pegboard_manifest import clean_schema, clean_text, project

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent.parent


class ManifestTool(StructuredTool):
    """A tool whose arguments go to the board as they are, whatever their names; the board checks them."""

    def _run(self, /, *_: Any, **arguments: Any) -> Any:
        assert self.func is not None
        return self.func(arguments)

    async def _arun(self, /, *_: Any, **arguments: Any) -> Any:
        assert self.func is not None
        return await asyncio.to_thread(self.func, arguments)


@contextlib.contextmanager
def open_tools(
    config: str | Path = FOLDER / "pegboard.toml",
    manifest: str | Path = FOLDER / "tool.manifest.json",
    *,
    user_id: str | None = None,
) -> Iterator[list[StructuredTool]]:
    """The tools, for as long as the block lasts.

    A call gives the text of the answer, and its data as the artifact. One that fails raises `ToolException` with the
    code and the message of the error, which LangChain hands to the model.
    """
    document = json.loads(Path(manifest).read_text(encoding="utf-8"))
    defs = document.get("$defs", {})
    # The path in full: the working directory is the caller's.
    files = {"plugins": {"manifest": {"files": [str(Path(manifest).resolve())]}}}
    with open_host_sync(config, overrides=files) as host:
        session = host.session(user_id=user_id, masks_secrets=True)  # a model reads the results
        yield [_tool(session, entry, defs) for entry in document["tools"]]


def _tool(session: Any, entry: dict[str, Any], defs: dict[str, Any]) -> StructuredTool:
    name = entry["name"]

    def call(arguments: dict[str, Any]) -> tuple[str, Any]:
        result = session.call(name, arguments)
        if result.error is not None:
            raise ToolException(f"{result.error.code}: {result.error.message}")
        return result.text, result.data

    return ManifestTool(
        name=name,
        description=clean_text(entry["description"]),
        args_schema=clean_schema(project(entry["input_schema"], defs)),
        func=call,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
