"""The one sanitiser: what hides in a text, taken out of it or made visible, and counted.

A text from outside is read by a person and by a model, and both have to read the same. `HIDDEN_CHARACTERS` lists by
kind what shows nothing, or steers whoever shows it: Unicode's `Default_Ignorable_Code_Point` (which holds all of
`Bidi_Control`), the annotation marks U+FFF9 to U+FFFB, C0 and C1 but tab and line feed, U+2028 and U+2029, halves of
surrogate pairs.

Some of it is needed to write, and stays where it is needed, and only there (`_stray`):

    joiners              between letters of cursive scripts (U+200C parts what would join inside of a Persian word);
                         beside the sign that joins Indic letters; between two pictographs. RFC 5892, appendix A, has
                         the rule for names; texts also have joiners before a virama (Bengali, Kannada), and behind the
                         last letter (Arabic)
    variation selectors  15 and 16 behind the pictographs that Unicode lists them for, and in keycaps; of the
                         supplementary ones the first 32 behind an ideograph, for the spelling of names
    Mongolian            its variation selectors and its vowel separator, in Mongolian words
    tags                 the three flags that Unicode recommends: England, Scotland, Wales

Nothing else has an exception, since nothing that is read changes without it. The soft hyphen and U+200B say where a
line may be broken; U+034F orders accents; Hangul's fillers, and Khmer's inherent vowels, are blank letters; the
invisible operators (U+2061 to U+2064) are for programs; the selectors 1 to 14 choose a style.

Lines end with LF or CR LF: the pair moves no cursor over what was written, and whoever edits a file has to see which it
has. Every other line break (UAX 14: a CR alone, VT, FF, NEL, U+2028, U+2029) becomes LF, and is counted.

What still can hide, in bits for a visible character: none behind letters of Latin, Greek and Cyrillic; log2(33), which
is 5.04, behind an ideograph; less behind all others.

Invariants: a text in which nothing hides comes back as the same object; cleaning twice is cleaning once; what can be
seen is never changed, but for the sequences that only a terminal reads (ECMA-48), which go as a whole.

The lists are those of Unicode 17.0.0: DerivedCoreProperties.txt, emoji-variation-sequences.txt, PropList.txt. Python's
own tables have no such property, and grow with its version: a text gives the same answer on each.
Copyright of the data: Unicode, Inc., https://www.unicode.org/license.txt

.. versionadded:: 0.1
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "CLEANED",
    "HIDDEN_CHARACTERS",
    "WORDS",
    "add_counts",
    "clean",
    "clean_value",
    "counts_in",
    "describe",
    "is_page",
    "visible",
    "visible_json",
]

HIDDEN_CHARACTERS: Mapping[str, str] = {
    "tags": "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff",
    "bidi": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "zero_width": (
        "\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"
        "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    ),
    "selectors": "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef",
    "fillers": "\u115f\u1160\u17b4\u17b5\u3164\uffa0",
    "separators": "\u2028\u2029",
    "surrogates": "\ud800-\udfff",
    "controls": "\x00-\x08\x0b-\x1f\x7f-\x9f",
}
"""What hides, by kind: for each the inside of a set in a regular expression.

.. versionadded:: 0.1
"""
BREAKS = "\x0b\x0c\x85\u2028\u2029"
ESCAPES = "escapes"
"""One more kind: a whole sequence that a terminal reads, of its introducer and of what follows."""

WORDS: Mapping[str, str] = {
    "tags": "characters of the tags block, which only a model reads",
    "bidi": "marks that turn the direction of text",
    "zero_width": "characters without width",
    "selectors": "variation selectors",
    "fillers": "letters that are blank",
    "separators": "separators of lines",
    "surrogates": "halves of characters",
    "controls": "control characters",
    ESCAPES: "control sequences of terminals",
}
"""The kinds, as a person reads them.

.. versionadded:: 0.1
"""

CLEANED = "cleaned"
"""Where the details of a result or an error count what was taken out of its texts: an object, by kind.

.. versionadded:: 0.1
"""
NOTHING: Mapping[str, int] = MappingProxyType({})

STYLED = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d"
    "\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665"
    "\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1"
    "\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd"
    "\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e"
    "\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50"
    "\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202\U0001f21a"
    "\U0001f22f\U0001f237\U0001f30d-\U0001f30f\U0001f315\U0001f31c\U0001f321\U0001f324-\U0001f32c\U0001f336"
    "\U0001f378\U0001f37d\U0001f393\U0001f396\U0001f397\U0001f399-\U0001f39b\U0001f39e\U0001f39f\U0001f3a7"
    "\U0001f3ac-\U0001f3ae\U0001f3c2\U0001f3c4\U0001f3c6\U0001f3ca-\U0001f3ce\U0001f3d4-\U0001f3e0\U0001f3ed"
    "\U0001f3f3\U0001f3f5\U0001f3f7\U0001f408\U0001f415\U0001f41f\U0001f426\U0001f43f\U0001f441\U0001f442"
    "\U0001f446-\U0001f449\U0001f44d\U0001f44e\U0001f453\U0001f46a\U0001f47d\U0001f4a3\U0001f4b0\U0001f4b3"
    "\U0001f4bb\U0001f4bf\U0001f4cb\U0001f4da\U0001f4df\U0001f4e4-\U0001f4e6\U0001f4ea-\U0001f4ed\U0001f4f7"
    "\U0001f4f9-\U0001f4fb\U0001f4fd\U0001f508\U0001f50d\U0001f512\U0001f513\U0001f549\U0001f54a"
    "\U0001f550-\U0001f567\U0001f56f\U0001f570\U0001f573-\U0001f579\U0001f587\U0001f58a-\U0001f58d\U0001f590"
    "\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3"
    "\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa\U0001f610\U0001f687"
    "\U0001f68d\U0001f691\U0001f694\U0001f698\U0001f6ad\U0001f6b2\U0001f6b9\U0001f6ba\U0001f6bc\U0001f6cb"
    "\U0001f6cd-\U0001f6cf\U0001f6e0-\U0001f6e5\U0001f6e9\U0001f6f0\U0001f6f3"
)
"""What takes the selectors 15 (text) and 16 (picture): emoji-variation-sequences.txt of Unicode 17.0.0, without the
twelve characters of keycaps."""
_PICTOGRAPHS = f"{STYLED}\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f900-\U0001faff"
"""What a joiner may join into one picture: the blocks that hold emoji, modifiers of the skin among them."""
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_NAME_SELECTORS = "\U000e0100-\U000e011f"
"""No ideograph has more than 32 registered ones (IVD_Sequences.txt)."""
_CURSIVE = (
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06fc\u06ff\u0710-\u074a\u074d-\u077f"
    "\u07ca-\u07f5\u0840-\u085b\u0860-\u086a\u0870-\u0887\u0889-\u088e\u0897-\u08e1\u08e3-\u08ff\u1807\u1820-\u1878"
    "\u1880-\u18aa\ua840-\ua873\U00010ac0-\U00010ae4\U00010b80-\U00010b91\U00010d00-\U00010d27\U00010f30-\U00010f54"
    "\U00010f70-\U00010f85\U00010fb0-\U00010fc4\U0001e900-\U0001e94b"
)
"""Letters and marks of the scripts whose letters join: Arabic, Syriac, N'Ko, Mandaic, Mongolian, Phags-pa, Manichaean,
Psalter Pahlavi, Hanifi Rohingya, Sogdian, Old Uyghur, Chorasmian, Adlam."""
_VIRAMAS = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a"
    "\u1714\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed"
    "\U00010a3f\U00011046\U00011070\U0001107f\U000110b9\U00011133\U00011134\U000111c0\U00011235\U000112ea"
    "\U0001134d\U000113ce-\U000113d0\U00011442\U000114c2\U000115bf\U0001163f\U000116b6\U0001172b\U00011839"
    "\U0001193d\U0001193e\U000119e0\U00011a34\U00011a47\U00011a99\U00011c3f\U00011d44\U00011d45\U00011d97"
    "\U00011f41\U00011f42\U0001612f"
)
"""The signs that join Indic letters: those of the combining class 9 (UnicodeData.txt)."""
_INDIC = "\u0900-\u0dff\u0f00-\u109f\u1700-\u17ff\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\uabff\U00010a00-\U00011fff"
_SHIFTERS = "\u17c9\u17ca"
"""Khmer's register shifters, which U+200C before them keeps in their own shape."""
_MONGOLIAN = "\u1820-\u1878\u1880-\u18aa"
_MONGOLIAN_SELECTORS = "\u180b-\u180d\u180f"
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(one)) for one in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
_NEEDED = f"\u200c\u200d\u180e\ufe0e\ufe0f{_MONGOLIAN_SELECTORS}{_NAME_SELECTORS}"
"""What `_stray` judges by what stands around it."""


def __getattr__(name: str) -> object:
    """`HIDDEN`, the former name of `HIDDEN_CHARACTERS`; it goes with 0.2."""
    if name != "HIDDEN":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard._renamed import warn_renamed

    warn_renamed("pegboard.text.HIDDEN", "pegboard.text.HIDDEN_CHARACTERS")
    return HIDDEN_CHARACTERS


SHORT = 64
"""Up to so many characters Python's own look is quicker."""
_ASCII_CONTROLS = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n")


@functools.cache
def _any() -> re.Pattern[str]:
    return re.compile(f"[{''.join(HIDDEN_CHARACTERS.values())}](?<!\r(?=\n))")


@functools.cache
def _sequences() -> re.Pattern[str]:
    """What a terminal reads as a whole: control sequences; strings that have an end (titles, links); sets of characters
    and modes of the keypad. What is not whole loses its control alone."""
    return re.compile(
        r"[\x1b\x9b](?:(?<=\x1b)"
        r"(?:\[[0-?]*+[ -/]*+[@-~]|[\]PX^_][^\x07\x1b]{0,4096}+(?:\x07|\x1b\\)|[()][012AB]|[78=>])"
        r"|(?<=\x9b)[0-?]++[ -/]*+[@-~])"
    )


@functools.cache
def _never() -> re.Pattern[str]:
    """What no writing needs; as one set, which is searched three times as fast as an exception in an expression."""
    never = sorted(_characters("".join(HIDDEN_CHARACTERS.values())) - _characters(f"\r{_NEEDED}"))
    runs = [(one, other) for one, other in zip([-2, *never], [*never, -2], strict=True) if other != one + 1]
    firsts, lasts = (first for _, first in runs[:-1]), (last for last, _ in runs[1:])
    return re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True)) + "]+")


def _characters(inside: str) -> set[int]:
    """The code points of the inside of a set."""
    pairs = re.findall("(.)(?:-(.))?", inside, re.DOTALL)
    return {code for first, last in pairs for code in range(ord(first), ord(last or first) + 1)}


@functools.cache
def _flags() -> re.Pattern[str]:
    return re.compile(f"({_FLAGS})")


@functools.cache
def _stray() -> re.Pattern[str]:
    """What of `_NEEDED` stands where no writing needs it.

    Each line is a condition that holds where it may stay. A neighbour that is looked for is visible, or is a selector
    right behind its own base: none of them is taken out itself, so that cleaning once is enough.

    It begins with the set, for which an expression is searched ten times as fast; so each condition looks back over the
    character itself. Behind most of ASCII none of it may stay, which is asked first.
    """
    return re.compile(
        rf"""
        [{_NEEDED}] (?:
          (?<=[\x00-"$-)+-/:-\x7f].)
        | (?<=[\ufe0e\ufe0f]) (?<![{STYLED}].) (?<![0-9\#*]\ufe0f(?=\u20e3))
        | (?<=[{_NAME_SELECTORS}]) (?<![{_IDEOGRAPHS}].)
        | (?<=[{_MONGOLIAN_SELECTORS}]) (?<![{_MONGOLIAN}].)
        | (?<=\u180e) (?<![{_MONGOLIAN}].(?=[\u1820\u1821]))
          (?<![{_MONGOLIAN}][{_MONGOLIAN_SELECTORS}].(?=[\u1820\u1821]))
        | (?<=[\u200c\u200d]) (?<![{_CURSIVE}]\u200d) (?<![{_CURSIVE}]\u200c(?=[{_CURSIVE}]))
          (?<![{_PICTOGRAPHS}]\u200d(?=[{_PICTOGRAPHS}])) (?<![{STYLED}][\ufe0e\ufe0f]\u200d(?=[{_PICTOGRAPHS}]))
          (?<![{_VIRAMAS}].) (?<![{_INDIC}].(?=[{_VIRAMAS}])) (?<![{_INDIC}]\u200c(?=[{_SHIFTERS}]))
        )
        """,
        re.VERBOSE | re.DOTALL,
    )


@functools.cache
def _tails() -> re.Pattern[str]:
    """What of `_NEEDED` stands behind three others: a condition of `_stray` holds for the first two at most, and looks
    no further than at the third. It is taken out as one, where one by one takes a second for two million."""
    return re.compile(f"(?<=[{_NEEDED}]{{3}})[{_NEEDED}]+")


def clean(text: str) -> tuple[str, Mapping[str, int]]:
    """The text without what hides in it, and how much of each kind that was.

    Linear in the text's length; about a microsecond for a thousand characters of ASCII. What hides is taken out in runs
    and in C: two millions of it take about as long as to read them from a network.

    Returns:
        The very text, and an empty mapping, where nothing hides.

    .. versionadded:: 0.1
    """
    if _is_plain(text):
        return text, NOTHING
    whole, found = text, Counter[str]()

    text, sequences = _sequences().subn("", text)
    text = _with_one_break(text, found)
    kept = _with_instead(text, "")
    if len(kept) < len(text):
        found.update(Counter(text) - Counter(kept))
    counts = Counter({ESCAPES: sequences} if sequences else {})
    for character, count in found.items():
        counts[_kind_of(character)] += count
    return (kept, dict(counts)) if counts else (whole, NOTHING)


def _with_one_break(text: str, found: Counter[str]) -> str:
    """The text whose lines end with LF or CR LF; other line breaks are counted."""
    if "\r" in text and (
        alone := text.count("\r") - text.count("\r\n")
    ):  # first: another break behind it is not a LF yet
        found["\r"] += alone
        text = "\r\n".join(part.replace("\r", "\n") for part in text.split("\r\n"))
    for one in BREAKS:
        if one in text:
            found[one] += text.count(one)
            text = text.replace(one, "\n")
    return text


def _is_plain(text: str) -> bool:
    """Whether no character of the list stands in the text."""
    if text.isascii():  # to look for controls as bytes takes a fifth of what an expression takes
        if len(text) < SHORT and text.isprintable():
            return True
        controls = len(text) - len(text.encode().translate(None, _ASCII_CONTROLS))
        return not controls or controls == text.count("\r\n")
    return _any().search(text) is None


def is_page(url: str) -> bool:
    """Whether an address is one of the web that shows a person where it leads: in ASCII, with no user before its host,
    and without the backslash, which browsers take for a slash.

    .. versionadded:: 0.1
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def visible(text: str) -> str:
    """The text with what hides in it written as escapes (`\\x1b`, `\\u202e`): harmless to a terminal, nothing is lost.

    CR LF becomes LF.

    .. versionadded:: 0.1
    """
    return _shown(text.replace("\r\n", "\n"), _ESCAPED)


def visible_json(text: str) -> str:
    """JSON text with what hides in its strings written as JSON's own escapes: the same value, harmless to a terminal.

    .. versionadded:: 0.1
    """
    return text.replace("\x7f", "\\u007f") if text.isascii() else _shown(text, _JSON_ESCAPED)


def _shown(text: str, escaped: Mapping[int, str]) -> str:
    if _is_plain(text):
        return text

    def show(match: re.Match[str]) -> str:
        return match[0].translate(escaped)

    return _with_instead(re.sub("\r(?!\n)", show, text), show)


def _with_instead(text: str, instead: str | Callable[[re.Match[str]], str]) -> str:
    """The text with something else in the place of what hides in it; the flags stay, which are made of tags."""
    parts = _flags().split(text) if "\U000e007f" in text else [text]
    # Every second one is a flag: `re.split` gives what a group of the pattern held too.
    for at in range(0, len(parts), 2):
        for hidden in (_never(), _tails(), _stray()):
            parts[at] = hidden.sub(instead, parts[at])
    return "".join(parts)


def clean_value(value: Any) -> tuple[Any, Mapping[str, int]]:
    """A JSON value with all its texts and keys clean, and how much of each kind was taken out of them.

    Two keys of one object that are the same when they are clean are both kept: the one that changed gets a number, as
    in `name (2)`.

    Args:
        value: what `json.loads` gives; it may be deep, but not hold itself.

    Returns:
        The very value where nothing hides.

    .. versionadded:: 0.1
    """
    counts: Counter[str] = Counter()
    cleaned = _clean_inside(value, counts)
    return cleaned, dict(counts) or NOTHING


def _clean_inside(value: Any, counts: Counter[str]) -> Any:
    if isinstance(value, str):
        cleaned, found = clean(value)
        if found:
            counts.update(found)
        return cleaned
    if isinstance(value, dict):
        made = {key: _clean_inside(item, counts) for key, item in value.items()}
        keys = {key: _clean_inside(key, counts) for key in value}
        if any(keys[key] is not key for key in keys):
            return _renamed(made, keys)
        return made if any(made[key] is not value[key] for key in made) else value
    if isinstance(value, (list, tuple)):
        items = [_clean_inside(item, counts) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _renamed(members: dict[Any, Any], keys: dict[Any, Any]) -> dict[Any, Any]:
    """The members in their order under their clean keys; keys that were clean come first to their name."""
    taken = {key for key, cleaned in keys.items() if cleaned is key}
    made: dict[Any, Any] = {}
    for key, item in members.items():
        name, number = keys[key], 1
        while name is not key and name in taken:
            number += 1
            name = f"{keys[key]} ({number})"
        taken.add(name)
        made[name] = item
    return made


def is_plain_json(text: str) -> bool:
    """Whether nothing hides in the strings of a JSON text that `json.dumps(..., ensure_ascii=False)` wrote.

    It may say no where nothing does; `clean_value` knows. That is what it is for: to walk no value in vain.
    """
    if "\\" in text and ("\\u" in text or "\\b" in text or "\\f" in text or text.count("\\r") != text.count("\\r\\n")):
        return False
    return "\x7f" not in text if text.isascii() else _any().search(text) is None


def add_counts(*counts: Mapping[str, int]) -> Mapping[str, int]:
    """Counts of several texts as one.

    .. versionadded:: 0.1
    """
    found: Counter[str] = Counter()
    for one in counts:
        found.update(one)
    return dict(found) or NOTHING


def counts_in(details: Mapping[str, Any] | None) -> Mapping[str, int]:
    """What the details of a result or an error count under `cleaned`; nothing where that is a word of the tool's own.

    .. versionadded:: 0.1
    """
    counted = (details or {}).get(CLEANED)
    if (
        isinstance(counted, dict)
        and WORDS.keys() >= counted.keys()
        and all(type(one) is int for one in counted.values())
    ):
        return counted
    return NOTHING


def describe(counts: Mapping[str, int]) -> str:
    """Counts as a person reads them: `marks that turn the direction of text (2), control characters (1)`.

    .. versionadded:: 0.1
    """
    return ", ".join(f"{WORDS.get(kind, kind)} ({count})" for kind, count in counts.items())


# -- what is said


@functools.lru_cache(maxsize=4096)
def _kind_of(character: str) -> str:
    return next(kind for kind, inside in HIDDEN_CHARACTERS.items() if re.match(f"[{inside}]", character))


class _Escapes(dict[int, str]):
    """A table for `str.translate` of characters that hide, filled as they come."""

    def __missing__(self, code: int) -> str:
        self[code] = text = self.written(code)
        return text

    @staticmethod
    def written(code: int) -> str:
        """As Python writes it."""
        if code < 0x100:
            return f"\\x{code:02x}"
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _JsonEscapes(_Escapes):
    @staticmethod
    def written(code: int) -> str:
        """As JSON writes it."""
        return json.dumps(chr(code))[1:-1]


_ESCAPED, _JSON_ESCAPED = _Escapes(), _JsonEscapes()
