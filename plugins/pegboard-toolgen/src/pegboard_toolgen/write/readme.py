"""`README.md`: what lies in the folder, what has to be there, and how to run it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from pegboard_toolgen.example_call import example_command
from pegboard_toolgen.parts import PARTS
from pegboard_toolgen.write._json import text_of
from pegboard_toolgen.write._markdown import code, fence, inline, paragraphs, table
from pegboard_toolgen.write.contract import test_file
from pegboard_toolgen.write.serve import COMMAND, CONFIG, MANIFEST

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

_KINDS = {
    "secret": "a secret",
    "username": "a user name",
    "address": "an address",
    "program": "a path",
    "passed": "passed on",
}


def render(view: ManifestView) -> dict[str, bytes]:
    """The page."""
    lines = [f"# Tools of {inline(view.title, 128)}", "", *paragraphs(view.description)]
    lines += [
        f"{_counted(view)}; `skill.md` explains them. `{MANIFEST}` is the source of everything here.",
        "To change a tool, edit `toolgen.toml` and run `llm-toolgen init` here (of pegboard-toolgen), or edit",
        "`overrides/` or the manifest and run `llm-toolgen build`; the other files are made from it.",
        "",
        *_what_it_needs(view),
        *_how_to_run(view),
        *_how_to_share(view),
        *_how_to_test(view),
        "## What lies here",
        "",
        *table(["File", "What it is"], _files(view)),
        *_what_is_not_here(view),
    ]
    while not lines[-1]:
        lines.pop()
    return {"README.md": ("\n".join(lines) + "\n").encode()}


def _counted(view: ManifestView) -> str:
    number, reads = len(view.tools), sum(tool.is_read_only for tool in view.tools)
    return f"{number} {'tool' if number == 1 else 'tools'}, {reads} of them read only"


def _what_it_needs(view: ManifestView) -> list[str]:
    lines = ["## What it needs", "", *fence("pip install pegboard pegboard-manifest pegboard-mcp pegboard-http", "sh")]
    rows = [
        ["program", code(id_), code(program["argv0"][0]) + ("" if "/" in program["argv0"][0] else " on `PATH`")]
        for id_, program in sorted(view.document.get("programs", {}).items())
    ]
    for id_, module in sorted(view.document.get("modules", {}).items()):
        brought = f", of the distribution {code(module['distribution'])}" if "distribution" in module else ""
        rows.append(["module", code(id_), f"{code(module['import'])} in the same environment{brought}"])
    rows += [
        ["server", code(id_), f"{code(server['base_url'])} in reach"]
        for id_, server in sorted(view.document.get("servers", {}).items())
    ]
    if rows:
        lines += table(["Kind", "Id", "What has to be there"], rows)
    if view.variables:
        lines += ["Variables of the environment:", ""]
        lines += table(
            ["Variable", "What it is", "Required", "What for"],
            (
                [code(one.name), _KINDS[one.kind], "yes" if one.required else "no", inline(one.about, 200)]
                for one in view.variables
            ),
        )
    return [*lines, f"`pegboard --config {CONFIG} doctor` says what is missing.", ""]


def _how_to_run(view: ManifestView) -> list[str]:
    commands = [f"pegboard --config {CONFIG} list"]
    if (call := _example(view)) is not None:
        commands.append(f"pegboard --config {CONFIG} {call}")
    commands += [
        f"{' '.join(COMMAND)}    # an MCP server on stdio",
        f"pegboard --config {CONFIG} gateway  # an HTTP API: http://127.0.0.1:8080/openapi.json",
    ]
    lines = ["## How to run it", "", "In this folder:", "", *fence("\n".join(commands), "sh")]
    elsewhere = {
        "mcpServers": {
            view.slug: {
                "command": "pegboard",
                "args": ["--config", f"/full/path/to/{CONFIG}", "serve"],
            }
        }
    }
    return [
        *lines,
        "`mcp.json` says the same to an MCP client that starts in this folder. A client that starts elsewhere needs",
        "the full path:",
        "",
        *fence(text_of(elsewhere), "json"),
        "Clients hand on few variables of their own environment: name what the tools need under `env` too.",
        "",
    ]


def _example(view: ManifestView) -> str | None:
    """A call that can be copied, in one line; None where there is no tool."""
    plain = example_command(view.document)
    example = view.to_try
    if plain is not None or example is None:
        return plain
    return f"call {example.name} --args {shlex.quote(json.dumps(example.examples[0]['input']))}"


def _how_to_share(view: ManifestView) -> list[str]:
    lines = []
    if "mcpb" in view.parts:
        bundle = (
            "cp -r adapters/mcpb bundle\n"
            f"cp {MANIFEST} {CONFIG} bundle/server/\n"
            f"npx @anthropic-ai/mcpb pack bundle {view.slug}.mcpb"
        )
        lines += [
            "A bundle that clients install by a click; its Python needs the packages above:",
            "",
            *fence(bundle, "sh"),
        ]
    if "server" in view.parts:
        lines += [
            "`adapters/server.json` is an entry for the MCP registry: in a copy of it, put your own namespace in the",
            "place of `com.example`.",
            "",
        ]
    of_parts = {"adapters": "adapters/openapi.json", "utcp": "adapters/utcp.json"}
    if through := [code(file) for part, file in of_parts.items() if part in view.parts]:
        call = "calls" if len(through) == 1 else "call"
        lines += [f"{' and '.join(through)} {call} the tools through `pegboard gateway`.", ""]
    return ["## How to hand it on", "", *lines] if lines else []


def _how_to_test(view: ManifestView) -> list[str]:
    if "tests" not in view.parts:
        return []
    return [
        "## How to test it",
        "",
        *fence(f"pip install pytest\npytest {test_file(view)}", "sh"),
        "Nothing is started or sent: schemas, examples, the table of errors, and the recorded pairs in `tests/golden`.",
        "",
    ]


_OF_PART = {
    "schemas": [["`schemas/`", "input, output and error of each tool"]],
    "adapters": [
        ["`adapters/openai.json`", "functions for chat completions"],
        ["`adapters/langchain_tools.py`", "tools for LangChain"],
        ["`adapters/openapi.json`", "the API of `pegboard gateway`"],
    ],
    "utcp": [["`adapters/utcp.json`", "a UTCP manual"]],
    "mcpb": [["`adapters/mcpb/`", "for a bundle"]],
    "server": [["`adapters/server.json`", "for the MCP registry"]],
    "tests": [["`tests/`", "contract tests"]],
}


def _files(view: ManifestView) -> list[list[str]]:
    return [
        ["`tool.manifest.json`", "the tools, what they are bound to, their limits"],
        ["`pegboard.toml`, `mcp.json`", "serve the manifest"],
        [f"`skill.md`, `{view.slug}/SKILL.md`", "the tools explained to a model"],
        *(row for part, rows in _OF_PART.items() if part in view.parts for row in rows),
    ]


def _what_is_not_here(view: ManifestView) -> list[str]:
    missing = [part for part in _OF_PART if part not in view.parts]
    if not missing:
        return []
    lines = [f"- {code(part)}: {PARTS[part]}" for part in missing]
    return ["`llm-toolgen build --with WORD,WORD` adds any of these, and `--full` all:", "", *lines, ""]
