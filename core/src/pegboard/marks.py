"""What a person should look at before a model reads it: names that look like others, titles that are names of others,
texts that read like orders, names that say other than what the tool says of itself.

Nothing is refused for a mark: what reads like an order may be good advice, and two honest servers may have much the
same names. `pegboard list` shows the kinds, `pegboard doctor` says where and why.

Names are compared by their skeletons (UTS 39, section 4): what looks the same becomes the same. Case, dashes,
underscores and other signs do not count either, since a model mixes them up. `confusables.txt` is the part of Unicode's
file of that name (15.1.0) whose prototypes are ASCII letters and digits, which is what tools are called by; what NFKD
makes the same by itself (wide, mathematical and circled letters) is left out.

.. versionadded:: 0.1
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard._renamed import former_names
from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal

    from pegboard.tools import Tool

__all__ = ["Mark", "looks_of", "marks_of", "orders_in", "skeleton"]

LOOK_ALIKE, TITLE, ORDERS, HIDDEN_TEXT, CONTRADICTION = "look-alike", "title", "orders", "hidden text", "contradiction"
"""The kinds of marks, as `pegboard list` shows them."""

__getattr__ = former_names(__name__, {"HIDDEN": "HIDDEN_TEXT"})

MAX_TEXTS = 5_000
"""How many texts of one tool are looked at."""
MAX_TEXT = 20_000
"""How much of one is looked at, in characters."""
MAX_OTHERS = 3
"""How many other tools a mark names."""

_ASCII_PROTOTYPES = str.maketrans({"0": "O", "1": "l", "I": "l", "m": "rn"})
"""What looks alike among ASCII, as Unicode's confusables.txt has it."""
_IN_SMALL = str.maketrans({"m": "rn"})

_KEY_FILES = (
    r"\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.(?:aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials)\b|"
    r"/etc/(?:passwd|shadow)\b|(?<!\w)\.env\b|\bmcp\.json\b|\bprivate keys?\b"
)
_RC_FILES = (".netrc", ".npmrc", ".pypirc")
_ORDERS: Mapping[str, tuple[tuple[tuple[str, ...], ...], str]] = {
    "it wants to go before other tools": (
        ((" tool",), ("before ", "prior to ", "instead of ", "rather than ", " must ")),
        r"\b(?:before|prior to) (?:you )?(?:us|call|runn?|invok)(?:e|es|ing)? (?:any|all|every|each|the)(?: of the)?"
        r"(?: other)? tools?\b|\b(?:instead of|rather than) (?:any|all|every|the)(?: of the)? other tools?\b|"
        r"\b(?:this tool|it) must (?:always )?be (?:called|used|run) (?:first|before)\b"
        r"(?! (?:performing |doing )?(?:any |all )?(?:operations?|actions?|requests?) (?:with|on|in|to|of) "
        r"(?!any\b|all\b|each\b|every\b|other\b|another\b))",
    ),
    "it speaks in tags of its own": (
        (("<",), ("important", "system", "instruction", "critical", "secret", "sidenote", "hidden")),
        r"</? ?(?:important|system|instructions?|critical|secret|sidenote|hidden)\b[^>]{0,80}>",
    ),
    "it asks for files that hold keys": (
        ((".ssh", ".aws", ".gnupg", ".kube", *_RC_FILES, ".git-", "/etc/", ".env", "mcp.json", "id_", "private key"),),
        rf"\b(?:read|open|cat|load|send|include|pass|copy|upload|attach|fetch|give|provide)\b.{{0,80}}?(?:{_KEY_FILES})",
    ),
    "it wants something kept from the person": (
        (
            (" user", " human", " person", " people", " any", " customer"),
            ("do not ", "don't ", "don\u2019t ", "never ", "must not ", "should not ", "without ", "avoid "),
        ),
        r"\b(?:do not|don't|don\u2019t|never|must not|should not|without|avoid) (?:ever )?"
        r"(?:tell|mention|inform|reveal|show|notify|disclos|alert|say)(?:e|ing)?\b[^.]{0,60}?"
        r"\b(?:the user|users?|humans?|person|people|anyone|anybody|customers?)\b",
    ),
    "it sets other orders aside": (
        (("ignore ", "disregard ", "forget "), ("previous ", "prior ", "earlier ", "above ", "other ")),
        r"\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your )?(?:previous|prior|earlier|above|other) "
        r"(?:instructions?|prompts?|rules|messages|tools?)\b",
    ),
    "it has a comment of HTML, which a page does not show": ((("<!--",),), "<!--"),
    "it has an image whose address carries more than a picture": (
        (("![", "<img"),),
        r"!\[[^\]]{0,200}\]\(\s?<?[^)\s]{1,2000}\?[^)\s]|<img\b[^>]{0,500}\?",
    ),
}
"""What reads like an order to a model: groups of words, of each of which one has to be there, which is quick to see and
leaves most expressions uncompiled; and the expression that finds it in a text of one line, in small letters."""


_DESTROYS = frozenset((
    "delete", "destroy", "drop", "erase", "kill", "overwrite", "purge", "remove", "truncate", "uninstall", "unlink",
    "wipe",
))  # fmt: skip
_CHANGES = _DESTROYS | frozenset((
    "append", "approve", "archive", "cancel", "commit", "create", "deploy", "disable", "edit", "enable", "insert",
    "install", "merge", "modify", "move", "patch", "publish", "push", "put", "rename", "replace", "reset",
    "restart", "save", "send", "submit", "update", "upload", "upsert", "write",
))  # fmt: skip
_READS = frozenset((
    "analyze", "check", "compare", "compute", "count", "describe", "diff", "download", "explain", "fetch", "find",
    "get", "inspect", "is", "list", "lookup", "parse", "preview", "query", "read", "resolve", "search", "show",
    "status", "summarize", "validate", "view",
))  # fmt: skip
"""What the first of these words in a name says that the tool does. Words that may mean both are left out: add, post,
run, set."""


class Mark(NamedTuple):
    """One thing to look at.

    Args:
        tool: the tool.
        kind: `LOOK_ALIKE`, `TITLE`, `ORDERS`, `HIDDEN_TEXT` or `CONTRADICTION`.
        where: which of its texts.
        why: what is to be seen there.

    .. versionadded:: 0.1
    """

    tool: Tool
    kind: str
    where: str
    why: str


def marks_of(tools: Iterable[Tool], taken_out: Mapping[str, Iterable[str]] | None = None) -> list[Mark]:
    """Everything to look at among the tools of one board, in the order of their names.

    Args:
        tools: all of them, since a name looks like another.
        taken_out: by name: what hid in the texts of a tool, as words, and was taken out where it came in.

    .. versionadded:: 0.1
    """
    tools = sorted(tools, key=lambda tool: tool.name)
    by_key: dict[str, list[Tool]] = {}
    for tool in tools:
        for key in looks_of(tool.name):
            by_key.setdefault(key, []).append(tool)
    marks: list[Mark] = []
    for tool in tools:
        if others := _others(tool, tool.name, by_key):
            marks.append(Mark(tool, LOOK_ALIKE, "name", f"it looks like {others}"))
        if tool.title and (others := _others(tool, tool.title, by_key)):
            marks.append(Mark(tool, TITLE, "title", f"it is the name of {others}"))
        texts = [(place, text[:MAX_TEXT]) for place, text in texts_of(tool)]
        whole = "\n".join(
            text for _, text in texts
        )  # nothing in all of it is nothing in each: most tools are done here
        if orders_in(whole):
            marks += [Mark(tool, ORDERS, place, why) for place, text in texts for why in orders_in(text)]
        hides = clean(whole)[1] and any(clean(text)[1] for _, text in texts)
        if hides or tool.name in (taken_out or {}):
            marks.append(Mark(tool, HIDDEN_TEXT, "texts", "characters that nobody sees"))
        if why := _contradiction(tool):
            marks.append(Mark(tool, CONTRADICTION, "annotations", why))
    return marks


def _contradiction(tool: Tool) -> str | None:
    """What a tool says of itself that its name denies."""
    said = tool.annotations
    if not said.read_only and said.destructive is None:
        return None  # it says nothing that a name could deny: most tools are done here
    verb = next((word for word in _words_of(tool.name) if word in _CHANGES or word in _READS), None)
    if said.read_only and verb in _CHANGES:
        return f"it says that it changes nothing, and its name says {verb!r}"
    if said.destructive is False and verb in _DESTROYS:
        return f"it says that it destroys nothing, and its name says {verb!r}"
    if said.destructive and verb in _READS:
        return f"it says that it may destroy, and its name says {verb!r}"
    return None


def _words_of(name: str) -> list[str]:
    """The words of a name, in small letters: `read_file`, `readFile`, `fs.read-file`."""
    return [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _others(tool: Tool, text: str, by_key: Mapping[str, list[Tool]]) -> str:
    """The tools but this one whose names look like a text, as words."""
    found = {other.name: other for key in looks_of(text) for other in by_key.get(key, ()) if other is not tool}
    named = [f"{name!a} of {other.origin}" for name, other in sorted(found.items())]
    more = f" and {len(named) - MAX_OTHERS} more" if len(named) > MAX_OTHERS else ""
    return f"{', '.join(named[:MAX_OTHERS])}{more}"


def looks_of(name: str) -> set[str]:
    """What a name is compared by: the letters and digits of its skeleton, as it stands and in small letters. Two names
    look alike where they have one of these in common.

    .. versionadded:: 0.1
    """
    forms = (skeleton(name), skeleton(name.casefold()))
    words = ("".join(filter(str.isalnum, form)).casefold().translate(_IN_SMALL) for form in forms)
    return {word for word in words if word}


def skeleton(text: str) -> str:
    """What a text looks like (UTS 39, section 4), for those characters that look like ASCII letters and digits.

    It is to be compared with other skeletons and to be shown to nobody.

    .. versionadded:: 0.1
    """
    if text.isascii():
        return text.translate(_ASCII_PROTOTYPES)
    return _normalized("NFKD", clean(text)[0]).translate(_prototypes())


def _normalized(form: Literal["NFKC", "NFKD"], text: str) -> str:
    import unicodedata  # nearly all names are ASCII, and every command loads this module

    return unicodedata.normalize(form, text)


@functools.cache
def confusable() -> dict[int, str]:
    """The characters of confusables.txt, by code, each with what it looks like. Read when a text first has other
    characters than ASCII: nearly all names have none, and every command loads this module."""
    import pkgutil

    data = pkgutil.get_data("pegboard", "confusables.txt")
    assert data is not None, "the package has its files"
    rows = (line.split() for line in data.decode("ascii").splitlines() if not line.startswith("#"))
    return {int(code, 16): prototype for prototype, *codes in rows for code in codes}


@functools.cache
def _prototypes() -> dict[int, str]:
    # A prototype is itself one of several that look alike: `1` and `I` are both `l`.
    alike = {code: prototype.translate(_ASCII_PROTOTYPES) for code, prototype in confusable().items()}
    return alike | _ASCII_PROTOTYPES


def orders_in(text: str) -> list[str]:
    """What in a text reads like an order to a model, as words; nothing in most. Linear in the text's length.

    .. versionadded:: 0.1
    """
    plain = " ".join(clean(text)[0].split()).casefold()
    if not plain.isascii():
        plain = _normalized("NFKC", plain)
    return [
        why
        for why, (groups, pattern) in _ORDERS.items()
        if all(any(word in plain for word in words) for words in groups) and _compiled(pattern).search(plain)
    ]


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def texts_of(tool: Tool) -> Iterator[tuple[str, str]]:
    """Every text of a tool that reaches a model, with its place.

    .. versionadded:: 0.1
    """
    parts: list[tuple[str, Any]] = [
        ("name", tool.name), ("title", tool.title), ("description", tool.description),
        ("input_schema", tool.input_schema), ("output_schema", tool.output_schema), ("category", tool.category),
    ]  # fmt: skip
    left = MAX_TEXTS
    while parts and left:
        place, value = parts.pop()
        left -= 1
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            parts += [(f"{place}.{plain(key)}", item) for key, item in value.items()]
            yield f"{place}, a key", " ".join(map(str, value))
        elif isinstance(value, (list, tuple)):
            parts += [(f"{place}[{index}]", item) for index, item in enumerate(value)]


def plain(key: object) -> str:
    """A key or a name in ASCII, shortened, for a line of doctor's."""
    return ascii(str(key))[1:-1][:60]
