"""Draw docs/picture.svg, the picture of the README: a session at a terminal, from what the program really prints.

    python docs/picture.py

runs each command of `SESSION` with the `pegboard` beside this interpreter, in a new folder that `SET_UP` prepares, and
writes the picture. It needs what the development environment has: the core, pegboard-dice, -manifest, -mcp, -toolgen.
tests/test_readme.py holds that the picture shows what is printed now.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "picture.svg"

SERVER = '''\
from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def add_note(text: str) -> str:
    """Keep a note."""
    return f"kept: {text}"


server.run()
'''
CONFIGURATION = """\
[plugins.mcp.servers.notes]            # an MCP server
command = "python"
args = ["notes.py"]

[plugins.manifest]                     # a Python library
files = ["colors/tool.manifest.json"]

[tools.add_note]                       # one policy, whatever the origin
requires_confirmation = "Keep this note?"
rate_limit = "10/minute"
"""
PROFILE = '\n[profiles.picture]\ntools = ["roll_dice", "add_note", "colorsys_rgb_to_hsv"]\n'
"""Not shown: more is installed where the picture is drawn than it has room for."""

SET_UP = ["pegboard toolgen init --library colorsys --out colors"]
SESSION = [
    "cat pegboard.toml",
    "pegboard list",
    "pegboard call roll_dice notation=4d6kh3",
    "pegboard call colorsys_rgb_to_hsv r:=1 g:=0.5 blue:=0",
    'pegboard call add_note text="Buy tea"',
    'pegboard call add_note text="Buy tea" --yes',
]

TITLE = "Pegboard at a terminal: tools of a package, of an MCP server and of a library, under one policy"
COLUMNS = 104
CHARACTER, LINE, MARGIN, BAR = 8.0, 19, 20, 34
"""In the picture's own units, which are pixels where it is not scaled."""
STYLE = """\
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
    .paper { fill: #f6f8fa } .frame { stroke: #d0d7de } .bar { fill: #e4e9ef }
    .said { fill: #1f2933 } .typed { fill: #0b5cad; font-weight: bold }
    .wrong { fill: #a61b1b } .aside { fill: #5b6672 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #14181f } .frame { stroke: #343b46 } .bar { fill: #232933 }
      .said { fill: #d9dfe7 } .typed { fill: #7cb7ff } .wrong { fill: #ff9a8f } .aside { fill: #94a0ae }
    }
"""


def run_session() -> list[tuple[str, list[str]]]:
    """Each command of the session with the lines that it printed, on stdout and stderr."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "notes.py").write_text(SERVER, encoding="utf-8")
        ours = ("PEGBOARD", "READ_ONLY", "XDG_", "PYTHON")
        environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith(ours)},
            "HOME": place,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "COLUMNS": str(COLUMNS),
        }

        def printed(command: str) -> str:
            return subprocess.run(
                ["bash", "-c", command], cwd=place, env=environ, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False, timeout=120,
            ).stdout  # fmt: skip

        for command in SET_UP:
            printed(command)
        (folder / "pegboard.toml").write_text(CONFIGURATION, encoding="utf-8")
        (folder / "real.toml").write_text(CONFIGURATION + PROFILE, encoding="utf-8")
        environ |= {"PEGBOARD_CONFIG": str(folder / "real.toml"), "PEGBOARD_PROFILE": "picture"}
        environ["PEGBOARD_PLUGINS__DICE__SEED"] = "7"
        printed("pegboard call add_note text=x --yes")  # a server that nobody knows yet is awaited first
        return [(command, printed(command).rstrip("\n").split("\n")) for command in SESSION]


def rows_of(session: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """The rows of the picture, each with the class of its text; what is too long goes on in the next."""
    rows = []
    for command, printed in session:
        rows.append(("typed", f"$ {command}"))
        for line in printed:
            kind = "wrong" if line.startswith("error:") else "aside" if line.startswith("hint:") else "said"
            pieces = [line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS)] or [""]
            rows += [(kind, piece) for piece in pieces]
        rows.append(("said", ""))
    return rows[:-1]


def draw(session: list[tuple[str, list[str]]]) -> str:
    """The picture as SVG; it is light or dark as the reader's system is."""
    rows = rows_of(session)
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + 2 * MARGIN + (len(rows) - 1) * LINE
    texts = [
        f'  <text class="{kind}" x="{MARGIN}" y="{BAR + MARGIN + index * LINE}" textLength="{len(row) * CHARACTER:g}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(row, quote=False)}</text>'
        for index, (kind, row) in enumerate(rows)
        if row
    ]
    top, right = BAR - 8, width - 1
    dots = "".join(f'<circle class="aside" cx="{20 + 18 * index}" cy="17" r="5" opacity="0.5"/>' for index in range(3))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"',
            '     role="img" aria-labelledby="title">',
            f'  <title id="title">{TITLE}</title>',
            f"  <style>\n{STYLE}  </style>",
            f'  <rect class="paper frame" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            f'  <path class="bar" d="M1 {top} V9 Q1 1 9 1 H{right - 8} Q{right} 1 {right} 9 V{top} Z"/>',
            f"  {dots}",
            *texts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(run_session()), encoding="utf-8")
