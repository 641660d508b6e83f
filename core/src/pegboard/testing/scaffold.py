"""A new plugin package: it passes its own tests and the publish gate the moment it is made."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from pegboard.errors import PegboardError

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "pegboard-{name}"
version = "0.1.0"
description = "The tool {tool} for Pegboard"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["pegboard>=0.1,<0.2"]

[project.optional-dependencies]
test = ["pegboard[testing]"]

[project.entry-points.pegboard]
{tool} = "{module}.plugin"

[tool.hatch.build.targets.wheel]
packages = ["src/{module}"]

[tool.pytest.ini_options]
trio_mode = true
filterwarnings = ["error"]
"""

README = """\
# pegboard-{name}

The tool `{tool}` for Pegboard: it says how many words a text has.

    $ pip install pegboard-{name}
    $ pegboard call {tool} text="to be or not to be"
    6
"""

INIT = '''\
"""The tool `{tool}` for Pegboard."""
'''

THINKING = '''\
"""What the tool does, without I/O: values in, values out. Replace it by your own."""

from __future__ import annotations


def count_words(text: str) -> int:
    """How many words a text has, as white space parts them."""
    return len(text.split())
'''

PLUGIN = '''\
"""What the package registers. Keep it light to import: heavy imports belong into the handlers."""

from __future__ import annotations

from pegboard import Tool, hookimpl, tool

from {module}.words import count_words


@tool(
    name="{tool}",
    category="text",
    read_only=True,
    idempotent=True,
    run="inplace",  # it cannot wait; leave this out for a function that does
    examples=[{{"arguments": {{"text": "to be or not to be"}}, "text": "6"}}],
)
def {tool}(text: str) -> int:
    """Count the words of a text.

    Args:
        text: the text whose words are counted.
    """
    return count_words(text)


@hookimpl
def provide_tools() -> list[Tool]:
    return [{tool}]
'''

TESTS = '''\
"""The tool as its callers meet it."""

from __future__ import annotations

from pegboard.testing import assert_error, assert_ok, record

from {module} import plugin


async def test_it_counts_words(host_with):
    session = record(await host_with(plugin))
    assert_ok(await session.call("{tool}", {{"text": "to be or not to be"}}), text="6")


async def test_a_text_without_words_has_none(host_with):
    session = record(await host_with(plugin))
    assert_ok(await session.call("{tool}", {{"text": "  "}}), text="0")


async def test_a_missing_text_is_said_to_be_missing(host_with):
    session = record(await host_with(plugin))
    assert_error(await session.call("{tool}", {{}}), "INVALID_INPUT", says="text")
'''


def make_plugin(name: str, folder: Path) -> Path:
    """Write the package `pegboard-NAME` into a new folder of that name.

    Args:
        name: the plugin, as in `coin`; `pegboard-coin` is understood.
        folder: where the package's own folder is made.

    Raises:
        PegboardError: the name is not valid, or the folder is there already.
        OSError: it cannot be written; what was written of it is removed.

    .. versionadded:: 0.1
    """
    name = name.removeprefix("pegboard-")
    if not _NAME.fullmatch(name):
        raise PegboardError(
            f"{name[:40]!r} is not a name for a plugin",
            hint="use small letters (a to z), digits and hyphens, a letter first: coin, word-count",
        )
    root = folder / f"pegboard-{name}"
    if root.exists():
        raise PegboardError(f"{root.name} is there already", hint="choose another name, or remove that folder")
    tool = name.replace("-", "_")
    module = f"pegboard_{tool}"
    files = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"src/{module}/__init__.py": INIT,
        f"src/{module}/words.py": THINKING,
        f"src/{module}/plugin.py": PLUGIN,
        f"src/{module}/py.typed": "",
        f"tests/test_{tool}.py": TESTS,
    }
    try:
        for path, template in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(template.format(name=name, tool=tool, module=module), encoding="utf-8")
    except OSError:
        shutil.rmtree(root, ignore_errors=True)  # half a package would be "there already" at the next try
        raise
    return root
