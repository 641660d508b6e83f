"""What a person should look at before a model reads it: names that look like others, titles that are names of others,
texts that read like orders, names that say other than what the tool says of itself.

Nothing is refused for a mark: what reads like an order may be good advice, and two honest servers may have much the
same names. `pegboard list` shows the kinds, `pegboard doctor` says where and why.

Names are compared by their skeletons (UTS 39, section 4): what looks the same becomes the same. Case, dashes,
underscores and other signs do not count either, since a model mixes them up. `CONFUSABLE` is the part of Unicode's
confusables.txt (15.1.0) whose prototypes are ASCII letters and digits, which is what tools are called by; what NFKD
makes the same by itself (wide, mathematical and circled letters) is left out.
Copyright of the data: Unicode, Inc., https://www.unicode.org/license.txt

.. versionadded:: 0.1
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal

    from pegboard.tools import Tool

__all__ = ["Mark", "looks_of", "marks_of", "orders_in", "skeleton"]

LOOK_ALIKE, TITLE, ORDERS, HIDDEN_TEXT, CONTRADICTION = "look-alike", "title", "orders", "hidden text", "contradiction"
"""The kinds of marks, as `pegboard list` shows them."""


def __getattr__(name: str) -> object:
    """`HIDDEN`, the former name of `HIDDEN_TEXT`; it goes with 0.2."""
    if name != "HIDDEN":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard._renamed import warn_renamed

    warn_renamed("pegboard.marks.HIDDEN", "pegboard.marks.HIDDEN_TEXT")
    return HIDDEN_TEXT


MAX_TEXTS = 5_000
"""How many texts of one tool are looked at."""
MAX_TEXT = 20_000
"""How much of one is looked at, in characters."""
MAX_OTHERS = 3
"""How many other tools a mark names."""

CONFUSABLE: Mapping[str, str] = {
    "2": "\u01a7\u03e8\u14bf\ua644\ua6ef\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab\U000118ca\U00016f3b",
    "4": "\u13ce\U000118af",
    "5": "\u01bc\U000118bb",
    "6": "\u0431\u13ee\u2cd2\U000118d5",
    "7": "\U000104d2\U000118c6",
    "8": "\u0222\u0223\u09ea\u0a6a\u0b03\U0001031a",
    "9": "\u09ed\u0a67\u0b68\u0d6d\u2cca\ua76e\U000118ac\U000118cc\U000118d6",
    "A": "\u0391\u0410\u13aa\u15c5\ua4ee\U000102a0\U00016f40",
    "AA": "\ua732",
    "AE": "\u00c6\u04d4",
    "AO": "\ua734",
    "AU": "\ua736",
    "AV": "\ua738\ua73a",
    "AY": "\ua73c",
    "B": "\u0392\u0412\u13f4\u15f7\ua4d0\ua7b4\U00010282\U000102a1\U00010301",
    "C": "\u0421\u13df\u2ca4\ua4da\U000102a2\U00010302\U00010415\U0001051c\U000118e9\U000118f2",
    "D": "\u13a0\u15de\u15ea\ua4d3",
    "E": "\u0395\u0415\u13ac\u2d39\ua4f0\U00010286\U000118a6\U000118ae",
    "F": "\u03dc\u15b4\ua4dd\ua798\U00010287\U000102a5\U00010525\U000118a2\U000118c2",
    "G": "\u050c\u13c0\u13f3\ua4d6",
    "H": "\u0397\u041d\u13bb\u157c\u2c8e\ua4e7\U000102cf",
    "J": "\u037f\u0408\u13ab\u148d\ua4d9\ua7b2",
    "K": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7\U00010518",
    "L": "\u13de\u14aa\u2cd0\ua4e1\U0001041b\U00010526\U000118a3\U000118b2\U00016f16",
    "M": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df\U000102b0\U00010311",
    "N": "\u039d\u2c9a\ua4e0\U00010513",
    "O": (
        "\u039f\u041e\u0555\u09e6\u0b20\u0b66\u12d0\u2c9e\u2d54\u3007\ua4f3\U00010292\U000102ab\U00010404"
        "\U000104c2\U00010516\U000114d0\U000118b5\U000118e0"
    ),
    "OE": "\u0152",
    "OO": "\ua698\ua74e",
    "P": "\u03a1\u0420\u13e2\u146d\u2ca2\ua4d1\U00010295",
    "Q": "\u2d55",
    "R": "\u01a6\u13a1\u13d2\u1587\ua4e3\U000104b4\U00016f35",
    "S": "\u0405\u054f\u13d5\u13da\ua4e2\U00010296\U00010420\U00016f3a",
    "T": "\u03a4\u0422\u13a2\u2ca6\ua4d4\U00010297\U000102b1\U00010315\U000118bc\U00016f0a",
    "T3": "\ua728",
    "U": "\u054d\u1200\u144c\ua4f4\U000104ce\U000118b8\U00016f42",
    "V": "\u0474\u06f7\u13d9\u142f\u2d38\ua4e6\ua6df\U0001051d\U000118a0\U00016f08",
    "W": "\u051c\u13b3\u13d4\ua4ea\U000118e6\U000118ef",
    "X": ("\u03a7\u0425\u16b7\u2cac\u2d5d\ua4eb\ua7b3\U00010290\U000102b4\U00010317\U00010322\U00010527\U000118ec"),
    "Y": "\u03a5\u0423\u04ae\u13a9\u13bd\u2ca8\ua4ec\U000102b2\U000118a4\U00016f43",
    "Z": "\u0396\u13c3\ua4dc\U000102f5\U000118a9\U000118e5",
    "a": "\u0251\u03b1\u0430",
    "aa": "\ua733",
    "ae": "\u00e6\u04d5",
    "ao": "\ua735",
    "au": "\ua737",
    "av": "\ua739\ua73b",
    "ay": "\ua73d",
    "b": "\u0184\u042c\u13cf\u1472\u15af",
    "bl": "\u042b",
    "c": "\u0441\u1d04\u2ca5\uabaf\U0001043d",
    "d": "\u0501\u13e7\u146f\ua4d2",
    "dz": "\u02a3",
    "e": "\u0435\u04bd\uab32",
    "f": "\u0584\u1e9d\ua799\uab35",
    "g": "\u018d\u0261\u0581\u1d83",
    "h": "\u04bb\u0570\u13c2",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\ua647\uab75\U000118c3",
    "j": "\u03f3\u0458",
    "l": ("\u0196\u01c0\u0399\u0406\u04c0\u06f1\u16c1\u2c92\u2d4f\ua4f2\U0001028a\U00010309\U00010320\U00016f28"),
    "lO": "\u042e",
    "ll": "\u01c1",
    "ls": "\u02aa",
    "lz": "\u02ab",
    "n": "\u0578\u057c",
    "o": (
        "\u03bf\u03c3\u043e\u0585\u06f5\u0966\u0a66\u0ae6\u0be6\u0c02\u0c66\u0c82\u0ce6\u0d02\u0d20\u0d66"
        "\u0d82\u0e50\u0ed0\u101d\u1040\u10ff\u1d0f\u1d11\u2c9f\uab3d\U0001042c\U000104ea\U000118c8"
        "\U000118d7"
    ),
    "oe": "\u0153",
    "oo": "\ua699\ua74f",
    "p": "\u03c1\u0440\u2ca3",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85\uab47\uab48\uab81",
    "rn": "\U00011700\U000118e3",
    "s": "\u01bd\u0455\ua731\uabaa\U00010448\U000118c1",
    "tf": "\ua777",
    "ts": "\u02a6",
    "u": "\u028b\u03c5\u057d\u1d1c\ua79f\uab4e\uab52\U000104f6\U000118d8",
    "ue": "\u1d6b",
    "uo": "\uab63",
    "v": "\u03bd\u0475\u1d20\uaba9\U00011706\U000118c0",
    "w": "\u026f\u0461\u051d\u0561\u1d21\uab83\U0001170a\U0001170e\U0001170f",
    "x": "\u0445\u1541\u157d",
    "y": "\u0263\u028f\u03b3\u0443\u04af\u10e7\u1d8c\u1eff\uab5a\U000118dc",
    "z": "\u1d22\uab93\U000118c4",
}
"""By prototype: the characters that look like it."""
_ASCII = {"0": "O", "1": "l", "I": "l", "m": "rn"}
"""The same among ASCII, as confusables.txt has it."""
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
        r"\b(?:this tool|it) must (?:always )?be (?:called|used|run) (?:first|before)\b",
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
    plain = text if text.isascii() else _normalized("NFKD", clean(text)[0])
    return plain.translate(_prototypes())


def _normalized(form: Literal["NFKC", "NFKD"], text: str) -> str:
    import unicodedata  # nearly all names are ASCII, and every command loads this module

    return unicodedata.normalize(form, text)


@functools.cache
def _prototypes() -> dict[int, str]:
    found = {ord(character): prototype for prototype, alike in CONFUSABLE.items() for character in alike}
    inner = str.maketrans(_ASCII)
    return {**{code: prototype.translate(inner) for code, prototype in found.items()}, **inner}


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
