"""Write `reference/attacks.md`: every attack of a server that is tried, out of the files in `tests/trust/attacks`.

Run `python docs/attacks.py` after a case was added; a test of `tests/trust` holds the page to the files.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "trust" / "attacks"
PAGE = ROOT / "docs" / "reference" / "attacks.md"
INTRO = """# Attacks of servers that are tried

Each of these is one file in `tests/trust/attacks`: a server that attacks, where the attack was described, and what must
be seen of it, at every interface that it can come through. *Ours* is what nobody had described that we know of. [The
threat model](../explanation/threat-model.md) says what holds against each kind, and what does not. A case runs by hand,
too, here under `pegboard probe`:

```bash
cd tests/trust/attacks
pegboard probe --read . -- python attacking.py definitions/asks_for_conversation.py
```
"""
FOLDERS = {
    "definitions": "What a server says of itself before anything is called",
    "changes": "What it becomes once it was accepted",
    "answers": "What it answers, so that a model does what it wants",
    "leaks": "What it wants to have, or gives away",
    "floods": "What it takes so that nobody else can work",
    "probing": "How it hides from `pegboard probe`",
    "confinement": "How it gets out of a sandbox",
    "accounts": "How it turns a login against a person",
}


def items_of(folder: Path) -> list[str]:
    """One item for each case in it: the attack, its source, what must be seen."""
    items = []
    for path in sorted(folder.glob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found = re.fullmatch(r"(.+?)\n\nSource: (.+?)\nSeen: (.+)", said, re.DOTALL)
        if found is None:
            raise ValueError(f"{path.name}: expected a docstring of the attack, 'Source: ...' and 'Seen: ...'")
        attack, source, seen = (" ".join(one.split()) for one in found.groups())
        name = f"[{path.stem.replace('_', ' ')}](../../{path.relative_to(ROOT).as_posix()})"
        source, seen = (one[:1].upper() + one[1:] for one in (source, seen))
        items.append(f"- **{name}:** {attack}\n  *Source:* {source}\n  *Seen:* {seen}")
    return items


def draw() -> str:
    """The page."""
    parts = [INTRO]
    for name, title in FOLDERS.items():
        parts += [f"## {title}\n", "\n".join(items_of(FOLDER / name)) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(draw(), encoding="utf-8")
