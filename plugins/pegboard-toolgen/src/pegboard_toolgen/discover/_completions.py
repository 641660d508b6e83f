"""What a completion script of zsh says of options: the specs of `_arguments`, as clap, shtab and people write them.

A further witness beside the help: which values are files, which words are known, what may be said several times.
Nothing of the script is run. zshcompsys(1), "_arguments", is the grammar: `(excluded)*-o+[text]:message:action`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pegboard_toolgen.discover._program_parts import Parameter

MAX_SCRIPT = 400_000
MAX_LINE = 4_000
MAX_SPECS = 4_000
MAX_KNOWN = 60
_FOLDERS = ("site-functions", "vendor-completions", "functions/Completion")
_LABEL = re.compile(r"^\s*\(([a-z][\w-]{0,60})(?:\|[\w|-]{0,200})?\)\s*$")
_WORD = re.compile(r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\{[^{}\s]{1,200}\}|\\\S|[^\s'\"\\{}])+")
_PIECE = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|\{([^{}\s]{1,200})\}|\\(\S)|([^\s'\"\\{}]+)")
_SPEC = re.compile(
    r"^(?:\((?P<excluded>[^()]{0,600})\))?(?P<many>\*?)(?P<flag>-[A-Za-z0-9#?@-][\w.-]*)[=+-]{0,2}"
    r"(?:\[(?P<text>(?:[^\]\\]|\\.)*)\])?(?P<value>:.*)?$",
    re.DOTALL,
)
_ASKED = re.compile(r"^(?:generate-(?:shell-)?)?completions?$")
_PRINTS = re.compile(r"\b(?:generat|output|print|show|emit)\w*\b[^.]{0,60}\bcomplet", re.IGNORECASE)


@attrs.frozen
class Spec:
    """What one spec says of an option.

    Args:
        is_file: its value is a file or a folder.
        words: values that are known.
        repeats: it may be said several times.
        excludes: options that may not stand beside it.
    """

    is_file: bool = False
    words: tuple[str, ...] = ()
    repeats: bool = False
    excludes: frozenset[str] = frozenset()


Specs = dict[str, dict[str, Spec]]
"""By the word of a command, "" for the program itself, and by flag."""


def beside(program: Path) -> str:
    """The script that lies under the program's own prefix; an empty text where there is none."""
    for prefix in dict.fromkeys((program.parent.parent, program.resolve().parent.parent)):
        for folder in _FOLDERS:
            try:
                with (prefix / "share" / "zsh" / folder / f"_{program.name}").open("rb") as file:
                    return file.read(MAX_SCRIPT).decode("utf-8", "replace")
            except OSError:
                continue
    return ""


def question(commands: Sequence[str], options: Sequence[Parameter], text: str) -> tuple[str, ...] | None:
    """The words by which a program prints its script, where its own help offers that: `generate-shell-completion zsh`.

    Args:
        commands: that its help lists.
        options: that its help lists.
        text: of the help, which has to say that it prints and does not install.
    """
    if not _PRINTS.search(text[:100_000]):
        return None
    for word in commands:
        if _ASKED.match(word):
            return (word, "zsh")
    for one in options:
        flag = next((flag for flag in one.flags if flag.startswith("--") and _ASKED.match(flag[2:])), None)
        if flag and one.form == "value" and _PRINTS.search(one.text):
            return (flag, "zsh")
    return None


def specs_of(script: str) -> Specs:
    """The options of each command; where two parts of a script differ over one, nothing is known of it."""
    found: Specs = {}
    label, count = "", 0
    for line in script[:MAX_SCRIPT].split("\n"):
        if named := _LABEL.match(line[:300]):
            label = named[1]
            continue
        for flag, spec in _specs_in(line[:MAX_LINE]) if "-" in line else ():
            count += 1
            if count > MAX_SPECS:
                return found
            known = found.setdefault(label, {})
            known[flag] = spec if known.get(flag, spec) == spec else Spec()
    return found


def _specs_in(line: str) -> Iterator[tuple[str, Spec]]:
    for word in _WORD.findall(line)[:50]:
        for said in _expanded(word):
            if read := _SPEC.match(said):
                yield read["flag"], _spec(read)


def _expanded(word: str) -> list[str]:
    """A word of the shell without its quotes; `'(-a --all)'{-a,--all}'[all]'` is two."""
    forms = [""]
    for found in _PIECE.finditer(word):
        quoted, double, braces, escaped, bare = found.groups()
        more = braces.split(",")[:8] if braces else [quoted or double or escaped or bare or ""]
        forms = [form + one for form in forms for one in more][:16]
    return forms


def _spec(read: re.Match[str]) -> Spec:
    value = read["value"] or ""
    # :message:action, and :: where the value may be left out
    parts = re.split(r"(?<!\\):", value.lstrip(":"), maxsplit=1)
    action = parts[1].strip() if len(parts) > 1 else ""
    return Spec(
        is_file=action.startswith(("_files", "_directories", "_path_files", "_dirs")),
        words=tuple(_words(action)),
        repeats=bool(read["many"]),
        excludes=frozenset(one for one in (read["excluded"] or "").split() if one.startswith("-")) - {read["flag"]},
    )


def _words(action: str) -> Iterator[str]:
    """`(a b)` and `((a\\:"first" b\\:"second"))` are words; anything else is a function of the script."""
    if action.startswith("((") and action.endswith("))"):
        yield from re.findall(r"(?:^|\s)([\w.+-]{1,60})(?:\\:|(?=\s|$))", action[2:-2])[:MAX_KNOWN]
    elif action.startswith("(") and action.endswith(")") and "$" not in action:
        yield from [one for one in action[1:-1].split() if re.fullmatch(r"[\w.+-]{1,60}", one)][:MAX_KNOWN]


def checked(options: Sequence[Parameter], known: Mapping[str, Spec]) -> tuple[Parameter, ...]:
    """The options of a help, with what the script knows of them beside; what the help says itself stays.

    Words of a script are those that it proposes, and may not be all: they are told, and nothing else is refused.
    """
    return tuple(_checked(one, known) for one in options)


def _checked(one: Parameter, known: Mapping[str, Spec]) -> Parameter:
    spec = next((known[flag] for flag in reversed(one.flags) if flag in known), None)
    if spec is None or one.form != "value":
        return one
    changes: dict[str, object] = {}
    is_text = one.schema == {"type": "string"} and one.words == 1
    if spec.is_file and is_text and one.access is None:
        note = "taken for a path by its completion."
        changes |= {"access": "guess", "may_repeat": False, "notes": (*one.notes, note)}
    if spec.words and "enum" not in one.schema and not all(word in one.text for word in spec.words[:3]):
        changes["text"] = f"{one.text} Known: {', '.join(spec.words)}.".strip()
    if spec.repeats and one.words == 1 and not one.is_optional:
        changes |= {"repeats": True, "may_repeat": False}
    return attrs.evolve(one, **changes)  # type: ignore[arg-type]
