r"""The manual page of a program as a text that reads like a help: the macros of man(7), and the common ones of mdoc(7).

Read from the file beside the program's own folder (`bin/x`, `share/man/man1/x.1.gz`), never by `man`: a page elsewhere
on the machine may be that of another program of the same name, and groff costs more than the program's help. It is
laid out as `man` would print it: headings at the first column, tags set in by 7, what is said of them by 14.
"""

from __future__ import annotations

import re
import shlex
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAX_PAGE = 400_000
MAX_LINE = 600
_SECTIONS = ("1", "8", "6")
_FONT = re.compile(
    r"\\f(?:\([A-Za-z]{2}|\[[^\]]{0,20}\]|.)|\\s[-+]?\d{1,2}|\\[cmM](?:\[[^\]]{0,20}\])?(?![-\w(\[])|\\[&|^/,%:]"
)
_CONTINUED = re.compile(r"(?<!\\)\\\n")
_NAMED = re.compile(r"\\\((..)|\\\[([A-Za-z]{2})\]|\\\*(?:\(..|\[[^\]]{0,40}\]|.)")
_SIGNS = {
    "aq": "'", "cq": "'", "oq": "'", "lq": '"', "rq": '"', "dq": '"', "em": "-", "en": "-", "hy": "-", "mi": "-",
    "ha": "^", "ti": "~", "bu": "*", "rs": "\\", "la": "<", "ra": ">", "ga": "`", "at": "@", "sh": "#", "Do": "$",
    "or": "|", "ci": "o",
}  # fmt: skip
_ALTERNATING = frozenset({"BR", "RB", "BI", "IB", "IR", "RI"})
_PLAIN = frozenset({"B", "I", "SM", "SB", "R"})
_BULLETS = frozenset("*o")
_SPACES = frozenset({"PP", "LP", "P", "Pp", "sp"})


def page_of(program: Path, words: Sequence[str]) -> str | None:
    """The manual page of a program or its command, as a text; None where there is none beside it.

    Args:
        program: the file of the program; its page lies under the same prefix.
        words: its name, and the words of its command: `git-remote.1` is that of `git remote`.
    """
    name = "-".join(words)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,120}", name):
        return None
    for prefix in dict.fromkeys((program.parent.parent, program.resolve().parent.parent)):
        for folder in (prefix / "share" / "man", prefix / "man"):
            for section in _SECTIONS:
                for ending in ("", ".gz"):
                    if page := _read(folder / f"man{section}" / f"{name}.{section}{ending}"):
                        return text_of(page)
    return None


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_PAGE)
    except OSError:
        return ""
    if data[:2] == b"\x1f\x8b":
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, MAX_PAGE)
        except zlib.error:
            return ""
    return data.decode("utf-8", "replace")


def text_of(page: str) -> str:
    """A page as text; what it does beside laying out text is left out. Never raises, whatever the page is."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_lines(page[:MAX_PAGE]))).strip("\n") + "\n"


def _lines(page: str) -> Iterator[str]:
    written = _Page()
    in_definition, skipped = False, 0
    for line in _CONTINUED.sub("", page).split("\n"):
        line = line[:MAX_LINE]
        if skipped or re.match(r"[.'] *(?:if|ie|el|while)\b", line):  # of another formatter, as a rule
            skipped = max(0, skipped + line.count("\\{") - line.count("\\}"))
            continue
        if line.startswith(('.\\"', "'\\\"", '\\"', "\\#")):
            continue
        if in_definition:
            in_definition = not re.match(r"\. *\.", line)
        elif re.match(r"[.'] *(?:de1?|ig|am)\b", line):
            in_definition = True
        elif line[:1] in (".", "'"):
            yield from written.macro(line[1:].strip())
        else:
            yield from written.words(_plain(line))
    yield from written.flush()


class _Page:
    """Where on the page the next words go: the paragraph that is open, and how deep it is set in."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.tag = ""
        self.awaits_tag = False
        self.is_tagged = False
        self.is_filled = True
        self.depth = 0
        self.name = ""

    def flush(self) -> Iterator[str]:
        """What is open, as lines."""
        said, self.open = " ".join(filter(None, self.open)), []
        if self.tag:
            yield " " * (7 + self.depth) + self.tag
            self.tag = ""
        if said:
            yield " " * ((14 if self.is_tagged else 7) + self.depth) + said

    def words(self, text: str) -> Iterator[str]:
        if self.awaits_tag and text:
            self.awaits_tag, self.tag, self.is_tagged = False, text.removesuffix(":"), True
        elif not self.is_filled:
            self.open.append(text.strip())
            yield from self.flush()
        elif text.strip():
            self.open.append(text.strip())
        else:
            yield from self.flush()
            yield ""

    def macro(self, line: str) -> Iterator[str]:
        name, _, rest = line.partition(" ")
        if name in ("SH", "SS", "Sh", "Ss"):
            yield from self.flush()
            self.is_tagged, self.depth, self.is_filled = False, 0, True
            yield from ("", " ".join(_arguments(rest)))
        elif name in _SPACES:
            yield from self.flush()
            self.is_tagged = False
            yield ""
        elif name in ("TP", "TQ"):
            yield from self.flush()
            self.awaits_tag = True
        elif name in ("IP", "It"):
            yield from self.flush()
            said = _arguments(rest)
            tag = (said[0] if said else "") if name == "IP" else " ".join(self.mdoc(said))
            self.awaits_tag = tag in _BULLETS  # what is behind a bullet is what the paragraphs below it are about
            self.tag, self.is_tagged = "" if self.awaits_tag else tag, True
        else:
            yield from self._other(name, rest)

    def _other(self, name: str, rest: str) -> Iterator[str]:
        if name in _ALTERNATING:
            yield from self.words("".join(_arguments(rest)))
        elif name in _PLAIN:
            yield from self.words(" ".join(_arguments(rest)))
        elif name in ("br", "nf", "EX", "fi", "EE", "Bd", "Ed", "El", "Bl", "SY", "YS"):
            yield from self.flush()
            self.is_filled = name not in ("nf", "EX", "Bd") and (self.is_filled or name in ("fi", "EE", "Ed"))
            if name == "SY":
                self.open.append(" ".join(_arguments(rest)))
        elif name in ("RS", "RE"):
            yield from self.flush()
            self.depth = min(max(0, self.depth + (7 if name == "RS" else -7)), 21)
        elif name == "OP":
            self.open.append(f"[{' '.join(_arguments(rest))}]")
        elif name not in ("Dd", "Dt", "Os") and re.fullmatch(r"[A-Z][a-z]", name):
            yield from self.words(" ".join(self.mdoc([name, *_arguments(rest)])))

    def mdoc(self, said: Sequence[str]) -> list[str]:
        """Words of mdoc: `Op Fl a Ar file` is `[-a <file>]`."""
        found: list[str] = []
        index, closes = 0, 0
        while index < len(said):
            word = said[index]
            index += 1
            if word in ("Fl", "Cm", "Ar", "Ic", "Sy", "Em", "Pa", "Va", "Ev", "Li", "Ql", "Dq", "Sq", "Pq", "Xr", "Ns"):
                following = said[index] if index < len(said) else ""
                if word == "Fl":
                    index += 1 + (following == "Fl")
                    found.append(f"-{following}" if following != "Fl" else f"--{(*said, '')[index - 1]}")
                elif word == "Ar":
                    index += 1
                    found.append(f"<{following or 'file'}>")
            elif word in ("Op", "Oo"):
                found.append("[")
                closes += word == "Op"
            elif word == "Oc":
                found.append("]")
            elif word == "Nm":
                self.name = said[index] if index < len(said) and not self.name else self.name
                index += bool(index < len(said) and said[index] == self.name)
                found.append(self.name)
            elif word == "Nd":
                found.append("-")
            elif not re.fullmatch(r"[A-Z][a-z]", word):
                found.append(word)
        return re.sub(r"\[ | \](?=[\] ]|$)", lambda m: m[0].strip(), " ".join([*found, *["]"] * closes])).split(" ")


def _arguments(rest: str) -> list[str]:
    try:
        return [_plain(one) for one in shlex.split(rest.replace("'", "\\'"), posix=True)][:100]
    except ValueError:
        return [_plain(one.strip('"')) for one in rest.split()][:100]


def _plain(text: str) -> str:
    """Without what changes fonts, and with the signs that are spelt out."""
    text = _FONT.sub("", text.split('\\"')[0])
    text = _NAMED.sub(lambda found: _SIGNS.get(found[1] or found[2] or "", ""), text)
    return text.replace("\\-", "-").replace("\\ ", " ").replace("\\~", " ").replace("\\e", "\\").replace("\\.", ".")
