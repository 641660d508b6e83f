"""What a session has read of untrusted sources, in bounds, and which words of a call stand in it. No I/O.

Texts are compared by their letters and digits alone, folded: neither case nor spacing nor punctuation nor accents hide
a word. Long texts are compared by windows of letters, as in Manber's "Finding similar files": every third window of
what was read is noted, every fourth one of what is asked is looked up, and since 3 and 4 have no common divisor, no run
of `LONG` letters in common is missed, however the two are shifted against each other.

Shorter values are looked for as a whole, and the words in them that are more than letters one by one.

What is kept lies in two generations. The older one is dropped as a whole where the newer one is full, so that nothing
has to be taken out one by one; whose texts were dropped is remembered. One index has both, and is made anew then.
"""

from __future__ import annotations

import functools
import re
import threading
import unicodedata
from collections.abc import Mapping
from itertools import chain, filterfalse, groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard._beside import size_of
from pegboard._encodings import decoded
from pegboard._frozen import freeze
from pegboard.flows.grams import EVERY_ASKED, EVERY_READ, WINDOW, Index
from pegboard.limits import LONG_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from pegboard._encodings import Part
    from pegboard.flows.said import WordsSaid

    Path = tuple[str | int, ...]

GENERATION_BYTES = 131_072
"""Letters of what was read, in UTF-8, that one generation holds; more than the host shows of one result."""
MOST_AT_ONCE = 2 * GENERATION_BYTES
"""Characters of one answer that are kept, those that came first."""
LONG = EVERY_READ * EVERY_ASKED + WINDOW - 1
"""Letters, in bytes of UTF-8: a run of so many is found wherever it stands; a shorter value is looked for whole."""
RUN = 24
"""Letters in a row that are more than a phrase of everybody's; about five words."""
BETWEEN_SPANS = " ... "
WEAK = 6
"""Letters: a shorter value, or a single word, stands in many a text by chance. It counts where no other value of the
call says what it is about: an address, a name of a file, a long number."""
TEXT_BYTES = 64
"""What a text costs beside its letters, in bytes: many small ones fill a generation, too."""
WAITING_BYTES = 200
"""What an answer costs beside its letters that nobody has asked about yet."""
MAX_OWN = 4_096
"""Values of a caller's own that a session remembers; one more, and all of them are forgotten."""
OWN_TEXT = 10_000
"""Arguments of more characters are not looked at for them: they cost time at each call."""
TO_WHOM = frozenset((
    "to", "cc", "bcc", "recipient", "recipients", "user", "username", "users", "payee", "beneficiary", "account",
    "assignee", "assignees", "invitee", "invitees", "attendee", "attendees", "participant", "participants", "member",
    "members", "destination", "receiver", "channel", "channels",
))  # fmt: skip
"""Names of arguments that say who is given something."""
LEAST_NAME = 3
"""Letters of a name of somebody."""
_WORDS_OF_NAME = re.compile(r"[a-z]+|[A-Z][a-z]*")
MAX_PIECES = 100
"""Addresses, numbers and the like that are looked for one by one in a long text."""

MAX_LABELS = 8
"""Labels at the end of a name of a host that are looked at."""

SHORT = 40
"""Characters: to find where in a shorter text to look costs more than to look at all of it."""
AT_ONCE, MAX_AT_ONCE = 64, 2_048
"""In bytes: steps and bound of the texts of which all windows are taken at once."""
CHARACTERS = range(9, 127)
"""Codes of characters: a list of such numbers alone is a text, too."""

TAGS = 0xE0000
"""Where ASCII stands once more, and is not seen (Unicode, 23.9)."""
LETTERS_BY_NAME = (range(0x250, 0x2B0), range(0x1D00, 0x1D23), range(0xA730, 0xA800), range(0x1F150, 0x1F200))
"""Where letters stand that are others in looks alone, and that no decomposition of Unicode leads back."""
_LETTER = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER|REGIONAL INDICATOR SYMBOL LETTER)"
    r" ([A-Z])"
)
_KIND_OF_FILE = re.compile(
    r"txt|md|json|xml|ya?ml|csv|log|html?|pdf|docx?|xlsx?|png|jpe?g|gif|zip|py|js|sh", re.IGNORECASE
)
_NOT_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_is_weak = attrgetter("is_weak")
_AROUND_WORDS = "\"'`.,;:!?()<>[]{}*_"
_SHAPE = bytes(
    97 if chr(code).isalpha() else 32 if chr(code).isspace() else 46 if chr(code) in _AROUND_WORDS else 120
    for code in range(256)
)
"""For `bytes.translate`: a letter is `a`, a space a space, what may stand around a word a dot, all else `x`."""
_BETWEEN_NAMES = re.compile(r"[^\w@.]+|_")
_DIGIT = re.compile(r"(?![0-9])\d")


def fold(text: str) -> bytes:
    """The letters and digits alone, without case and accents; what looks like a letter of ASCII is one."""
    if text.isascii():
        return text.lower().encode("ascii").translate(None, _NOT_LETTERS)
    return "".join(filter(str.isalnum, _plain(text))).encode("utf-8", "replace")


def _spaced(text: str) -> bytes:
    """Folded, with what stands between the words."""
    return (text.lower() if text.isascii() else _plain(text)).encode("utf-8", "replace")


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded.translate(_look_alikes()))


@functools.cache
def _look_alikes() -> dict[int, str]:
    """Letters of other scripts that look like one of ASCII, in small letters: whether the small or the large one does,
    both are folded alike. Letters that are blank go."""
    from pegboard.marks import confusable
    from pegboard.text import HIDDEN_CHARACTERS

    found = dict.fromkeys(map(ord, HIDDEN_CHARACTERS["fillers"]), "")
    found |= {TAGS + code: chr(code).lower() for code in range(32, 127)}
    for code in chain.from_iterable(LETTERS_BY_NAME):
        if letter := _LETTER.fullmatch(unicodedata.name(chr(code), "")):
            found[code] = letter[1].lower()
    for code, prototype in confusable().items():
        small = unicodedata.normalize("NFKD", chr(code).casefold())
        if len(small) == 1 and not small.isascii():
            found.setdefault(ord(small), prototype.casefold())
    return found


class Label(NamedTuple):
    """Where something that was read came from: the key of the source, and what a person reads.

    `policy` is what the configuration says of it; None: nothing. `plugin` is the key of the plugin that has the source.
    """

    key: str
    shown: str
    policy: str | None = None
    plugin: str = ""


class Passage:
    """What was read of one label, one text behind the other, with a byte between them that is in no text."""

    __slots__ = ("folded", "label", "spaced")

    def __init__(self, label: Label) -> None:
        self.label = label
        self.folded = bytearray()
        self.spaced = bytearray()


class Match(NamedTuple):
    """Words of a call that stand in what was read.

    Args:
        path: where they stand in the arguments; empty for the tool's own name.
        text: the value there.
        spans: from where to where the words stand in it.
        form: how they are encoded there; empty: they are not.
        plain: the words themselves.
        label: where they came from.
    """

    path: Path
    text: str
    spans: tuple[tuple[int, int], ...]
    form: str
    plain: str
    label: Label


class Leaf(NamedTuple):
    """A text that a call carries: where it stands, itself, its folded form, and whether that may stand anywhere by
    chance. It is folded once: that is most of what an ordinary call would cost."""

    path: Path
    text: str
    folded: bytes
    is_weak: bool


class _Generation:
    def __init__(self) -> None:
        self.passages: dict[Label, Passage] = {}
        self.texts: set[int] = set()
        self.size = 0

    def add(self, label: Label, text: str, index: Index) -> bool:
        """Note a text; whether all of it was taken."""
        if (known := hash((label, text))) in self.texts:
            return True
        self.texts.add(known)
        folded = fold(text)
        taken = folded[:GENERATION_BYTES]
        passage = self.passages.get(label)
        if passage is None:
            passage = self.passages[label] = Passage(label)
        passage.folded += taken + b"\0"
        passage.spaced += _spaced(text[:GENERATION_BYTES]) + b"\0"
        self.size += len(taken) + TEXT_BYTES
        index.add(taken)
        return len(folded) == len(taken)


class _Waiting(NamedTuple):
    """What was answered and is not read yet: texts by their hashes, the arguments of the call, and what both take."""

    label: Label
    texts: dict[int, str]
    own: Any
    size: int


class WordsRead:
    """What one session has read of untrusted sources. Long arguments are looked through in threads, so what is kept is
    changed and listed under a lock; what was listed only grows meanwhile.

    Attributes:
        labels: where all of it came from.
        dropped: where those texts came from that are no longer kept.
    """

    def __init__(self, is_defined: Callable[[bytes], bool] = lambda folded: False) -> None:
        self._is_defined = is_defined
        self._old, self._new, self._index = _Generation(), _Generation(), Index(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._start_waiting()
        self._own: set[int] = set()
        self.labels: dict[Label, None] = {}
        self.dropped: dict[str, Label] = {}

    def _start_waiting(self) -> None:
        self._waiting: list[_Waiting] = []
        self._waiting_size = 0
        self._waiting_known: set[int] = set()

    @property
    def is_behind(self) -> bool:
        """Whether the next `find` has much to read first, or waits for another that reads."""
        return self._waiting_size > LONG_TEXT or self._lock.locked()

    def note(self, label: Label, texts: list[str], arguments: Any = None) -> None:
        """Note texts that came from there, and what was asked for. They are read when somebody asks, so that most
        sessions never pay.

        A value that the caller gave before anybody said it is the caller's own: an answer that repeats it says nothing
        new, so it is not asked about.
        """
        with self._lock:
            self._note(label, texts, arguments)

    def _note(self, label: Label, texts: list[str], arguments: Any) -> None:
        known = self._waiting_known
        new = {key: text for text in texts if (key := hash((label, text))) not in known and key not in self._new.texts}
        size = sum(map(len, new.values()))
        if size > MOST_AT_ONCE:  # a model is shown the beginning
            new, size = self._beginning(label, new)
        known.update(new)
        own = None
        if arguments and (own_size := size_of(arguments)) <= OWN_TEXT and (key := hash(str(arguments))) not in known:
            own = freeze(arguments)  # a copy, where it is not frozen yet: the caller may change it for the next call
            known.add(key)
            size += own_size
        if not (new or own):
            return
        self.labels[label] = None
        self._waiting.append(_Waiting(label, new, own, size + WAITING_BYTES))
        self._waiting_size += size + WAITING_BYTES
        if size > GENERATION_BYTES:
            self._take_in()
        elif self._waiting_size > 2 * GENERATION_BYTES:
            self._drop_oldest()

    def _beginning(self, label: Label, texts: dict[int, str]) -> tuple[dict[int, str], int]:
        """Of one answer that says more than is kept, the first texts, and their size."""
        self.dropped[label.key] = label
        kept, size = dict[int, str](), 0
        for key, text in texts.items():
            kept[key] = text[: MOST_AT_ONCE - size]
            size += len(kept[key]) + TEXT_BYTES
            if size >= MOST_AT_ONCE:
                break
        return kept, size

    def _drop_oldest(self) -> None:
        """Of what waits, a quarter and all that brought no new text goes."""
        waiting = [one for one in self._waiting if one.texts]
        size, gone = sum(one.size for one in waiting), 0
        while size > GENERATION_BYTES * 3 // 2:
            label = waiting[gone].label
            self.dropped[label.key] = label
            size -= waiting[gone].size
            gone += 1
        self._waiting, self._waiting_size = waiting[gone:], size
        self._waiting_known = {key for one in self._waiting for key in one.texts}

    def _take_in(self) -> None:
        waiting = self._waiting
        self._start_waiting()
        for label, texts, own, _ in waiting:
            self._note_own(own)
            for text in texts.values():
                self._add(label, text)
                for part in decoded(text[:GENERATION_BYTES]):
                    self._add(label, part.text)

    def _note_own(self, arguments: Any) -> None:
        """Note those values that would have been found in nothing that was read so far."""
        passages = self._passages()
        values, keys = chosen(arguments)
        for leaf in chain(values, _others(values, keys)):
            if hash(leaf.text) in self._own or self.dropped:  # what was forgotten may have said it
                continue
            is_read = _alone(leaf, passages) if leaf.is_weak else _in_value(leaf, passages, self._index)
            if is_read is None and not self._is_defined(leaf.folded):
                if len(self._own) >= MAX_OWN:
                    self._own.clear()
                self._own.add(hash(leaf.text))

    def _passages(self) -> list[Passage]:
        return [*self._new.passages.values(), *self._old.passages.values()]

    def _add(self, label: Label, text: str) -> None:
        if self._new.size >= GENERATION_BYTES:
            self.dropped |= {one.key: one for one in self._old.passages}
            self._old, self._new = self._new, _Generation()
            self._index = Index(MOST_AT_ONCE, [one.folded for one in self._old.passages.values()])
        if not self._new.add(label, text, self._index):
            self.dropped[label.key] = label

    def find(
        self,
        values: list[Leaf],
        keys: list[Leaf],
        *,
        name: str,
        strictness: Callable[[Label], int],
        said: WordsSaid | None = None,
        forms: Callable[[str], Iterable[Part]] = decoded,
    ) -> list[Match]:
        """Which words of a call stand in what was read.

        Args:
            values: which somebody chose in the arguments.
            keys: which somebody chose in them.
            name: of the tool, which is looked for where the arguments say nothing.
            strictness: of what came from there: 0 does not count; of several that hold the same words the highest is
                told.
            said: what the person said themself: words of it are theirs, whoever else says them.
            forms: gives the texts that a text holds in another form.
        """
        with self._lock:
            if self._waiting:
                self._take_in()
            index = self._index
            judged = [(strictness(one.label), one) for one in self._passages()]
        judged.sort(key=itemgetter(0), reverse=True)
        passages = [one for strict, one in judged if strict]
        if not passages:
            return []
        if not (values or keys):
            return _of_name(name, passages)
        found: list[Match] = []
        weak: list[Leaf] = []
        named: set[str] = set()
        for leaf in chain(values, _others(values, keys)):
            if self._own and hash(leaf.text) in self._own:
                continue
            if leaf.is_weak:
                weak.append(leaf)
                continue
            match = _in_value(leaf, passages, index, forms)
            if match is not None and (others_words := unsaid(match, said)) is not None:
                found.append(others_words)
            elif match is not None:
                named.add(leaf.text)
        # A value that the person named does not speak for the short ones beside it where a source says it, too.
        if weak and any(_identifies(leaf.text) for leaf in values if not leaf.is_weak and leaf.text not in named):
            weak = [leaf for leaf in weak if _is_to_whom(leaf)]
        if weak:
            found += filter(None, (_alone(leaf, passages) for leaf in weak if not _is_named(leaf.text, said)))
        return found

    def says(self, text: str) -> bool:
        """Whether these words stand there with what stands between them, in whatever case."""
        words = _spaced(text).strip()
        return any(words in one.spaced for one in self._passages())


def texts_in(value: Any) -> Iterator[str]:
    """Every text and key in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_in(item)
    elif type(value) in (int, float):
        yield _number(value)


def _number(value: float) -> str:
    return str(value).removesuffix(".0")


def _leaf(path: Path, text: str, folded: bytes | None = None) -> Leaf:
    folded = fold(text) if folded is None else folded
    is_weak = len(folded) <= 2 * WEAK and (len(folded) < WEAK or text.strip().isalpha())
    return Leaf(path, text, folded, is_weak)


def is_common(text: str) -> bool:
    """Whether it may stand anywhere by chance."""
    return _leaf((), text).is_weak


def chosen(arguments: Any, own_words: Collection[str] = ()) -> tuple[list[Leaf], list[Leaf]]:
    """The values and the keys that somebody chose in the arguments, each with its place.

    Args:
        arguments: of a call.
        own_words: values that the tool itself offers, and names of its arguments: nobody says anything by them.
    """
    values: list[Leaf] = []
    keys: list[Leaf] = []
    _gather(arguments, (), own_words, values, keys)
    return values, keys


def _others(values: list[Leaf], keys: list[Leaf]) -> list[Leaf]:
    """What may carry words beside the values: the keys, and what was taken apart over several of either."""
    if not keys and sum(map(_is_weak, values)) < 2:
        return keys
    together = (leaf for leaves in (values, keys) if len(leaves) > 1 for leaf in _put_together(leaves))
    return [*keys, *together]


def _gather(value: Any, path: Path, own_words: Collection[str], values: list[Leaf], keys: list[Leaf]) -> None:
    """Texts and numbers, but those that the tool itself offers, and keys that it does not name."""
    if isinstance(value, str):
        if value not in own_words and (folded := fold(value)):
            values.append(_leaf(path, value, folded))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in own_words and (folded := fold(key)):
                keys.append(_leaf((*path, key), key, folded))
            if not isinstance(item, str):
                _gather(item, (*path, key), own_words, values, keys)
            elif item not in own_words and (folded := fold(item)):
                values.append(_leaf((*path, key), item, folded))
    elif isinstance(value, (list, tuple)):
        if len(value) >= WEAK and all(type(item) is int and item in CHARACTERS for item in value):
            values.append(_leaf(path, "".join(map(chr, value))))
        for index, item in enumerate(value):
            _gather(item, (*path, index), own_words, values, keys)
    elif type(value) in (int, float):
        values.append(_leaf(path, _number(value)))


_INSIDE: tuple[Callable[[Leaf], Path], ...] = (
    lambda leaf: (),
    lambda leaf: leaf.path[:1],
    lambda leaf: leaf.path[:-1],
)
"""Whose parts are put together: of the whole call, of one argument, of one list or object."""


def _put_together(leaves: list[Leaf]) -> Iterator[Leaf]:
    """Neighbours that are each too short to count, as one text: single letters, parts of a number, words of a list.
    Those of one argument also without the short ones around it, which would make it another text."""
    if sum(map(_is_weak, leaves)) < 2:
        return
    for is_short, run in groupby(leaves, _is_weak):
        parts = list(run) if is_short else []
        for some in {tuple(some): None for one in _INSIDE for _, some in groupby(parts, one)}:
            if len(some) > 1 and not _leaf((), "".join(leaf.text for leaf in some)).is_weak:
                first, last = some[0].path, some[-1].path
                together = tuple(one for one, other in zip(first, last, strict=False) if one == other)
                between = "" if all(len(leaf.text) == 1 for leaf in some) else " "
                yield _leaf(together or first, between.join(leaf.text for leaf in some))


def _is_to_whom(leaf: Leaf) -> bool:
    """Whether a short value says who is given something: whatever stands beside it, it is what a call is about."""
    names = [part for part in leaf.path if isinstance(part, str)]
    return bool(names) and len(leaf.folded) >= LEAST_NAME and not TO_WHOM.isdisjoint(_WORDS_OF_NAME.findall(names[-1]))


def _identifies(text: str) -> bool:
    """Whether a value says what the call is about: one word that is more than letters."""
    return text.split(None, 1) == [text] and not text.isalpha()


def _of_name(name: str, passages: Iterable[Passage]) -> list[Match]:
    words = fold(name)
    for one in passages:
        if words in one.folded if len(words) >= WEAK else _stands_alone(_spaced(name), one.spaced):
            return [Match((), name, ((0, len(name)),), "", name, one.label)]
    return []


def _alone(leaf: Leaf, passages: Iterable[Passage]) -> Match | None:
    text = leaf.text
    word = _spaced(text).strip()
    label = next((one.label for one in passages if _stands_alone(word, one.spaced)), None)
    return None if label is None else Match(leaf.path, text, ((0, len(text)),), "", text, label)


def _stands_alone(word: bytes, text: bytearray) -> bool:
    """Whether it stands there, and not as a part of a longer word."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_is_letter(text[at - 1 : at]) or _is_letter(text[end : end + 1])):
            return True
        at = text.find(word, at + 1)
    return False


def _is_letter(byte: bytearray) -> bool:
    return byte.isalnum() or byte > b"\x7f"


def _in_value(
    leaf: Leaf,
    passages: list[Passage],
    index: Index,
    forms: Callable[[str], Iterable[Part]] = decoded,
) -> Match | None:
    """The words of one value that stand in what was read, as they are or in another form."""
    path, text, folded, _ = leaf
    spans, label = _spans(text, folded, passages, index)
    if label is not None:
        return Match(path, text, tuple(spans), "", _plain_words(text, spans), label)
    for part in forms(text):
        spans, label = _spans(part.text, fold(part.text), passages, index)
        if label is not None:
            return Match(path, text, ((part.start, part.end),), part.form, _plain_words(part.text, spans), label)
    return None


def _plain_words(text: str, spans: Iterable[tuple[int, int]]) -> str:
    return BETWEEN_SPANS.join(text[start:end] for start, end in spans)


def _is_named(text: str, said: WordsSaid | None) -> bool:
    """Whether the person named a short value; numbers and words in small letters stand in many a question by chance."""
    return said is not None and not text.islower() and text.strip().isalpha() and said.holds(text, 0, len(text))


def unsaid(match: Match, said: WordsSaid | None) -> Match | None:
    """The same without the words that the person said themself; None: they said all of it."""
    text = match.text
    if said is None or match.form or len(match.spans) > MAX_PIECES:
        return match
    spans: list[tuple[int, int]] = []
    for start, end in match.spans:
        word = text[start:end]
        places = list(_found_at(word, text))  # an address that they said may hold another one, which they did not say
        not_said = [at for at in places if not said.holds(text, at, at + len(word))]
        if not_said or len(places) > MAX_PIECES:
            at = not_said[0] if not_said else start
            spans.append((at, at + len(word)))
    return match._replace(spans=tuple(spans), plain=_plain_words(text, spans)) if spans else None


def _spans(
    text: str, folded: bytes, passages: list[Passage], index: Index
) -> tuple[list[tuple[int, int]], Label | None]:
    if len(folded) < WEAK:
        return [], None
    spans: list[tuple[int, int]] = []
    first: Label | None = None
    if len(folded) < LONG:
        if (label := _holder(folded, passages, index)) is not None:
            return [(0, len(text))], label
        if folded.startswith(b"0") and folded.isdigit():  # 0049 is +49, and so is 0 at home
            without = folded.lstrip(b"0")
            if len(without) >= WEAK and (label := _holder(without, passages, index)) is not None:
                return [(0, len(text))], label
    else:
        for start, end, label in _runs(folded, passages, index):
            first = first or label
            spans.append((start, end))
        if spans:
            places = _places(text, len(folded))
            spans = [(places[start], places[end - 1] + 1) for start, end in spans]
    for word in _telling_words(text):
        piece = fold(word)
        if not WEAK <= len(piece) < min(LONG, len(folded)):
            continue
        label = _holder(piece, passages, index)
        if label is not None:
            at = next((at for at in _found_at(word, text) if not any(start <= at < end for start, end in spans)), -1)
            if at >= 0:
                first = first or label
                spans.append((at, at + len(word)))
    return sorted(spans), first


def _found_at(word: str, text: str) -> Iterator[int]:
    """Where it stands, also in a longer word, in the first hundred places and one more."""
    at = text.find(word)
    for _ in range(MAX_PIECES + 1):
        if at < 0:
            return
        yield at
        at = text.find(word, at + 1)


def _telling_words(text: str) -> list[str]:
    """The words that are more than letters - addresses, numbers, names of files - and such names inside of them."""
    if len(text) > SHORT and text.isascii():
        shape = text.encode().translate(_SHAPE)
        if not (b"x" in shape or b"a.a" in shape or b".." in shape):
            return []
    telling = [word.strip(_AROUND_WORDS) for word in filterfalse(str.isalpha, text.split())]
    found: dict[str, None] = {}
    for word in telling:
        if not word.isalpha():
            found[word] = None
            if not word.isalnum():
                found.update((part, None) for part in _names_in(word) if not part.isalpha())
    return list(found)[:MAX_PIECES]


def _names_in(word: str) -> list[str]:
    """What a path or an address is made of, also without the kind of file, and label by label; an address of mail goes
    with its host."""
    parts = _BETWEEN_NAMES.split(word)
    for part in [one for one in parts if "." in one]:
        name, _, kind = part.rpartition(".")
        if name and _KIND_OF_FILE.fullmatch(kind):
            parts.append(name)
        if "@" not in part:
            parts += [*part.split("."), *hosts_above(part)]
    return parts


def hosts_above(name: str) -> list[str]:
    """The names that a name of a host is under: what stands before them is told to whoever has them."""
    labels = name.rstrip(".").rsplit(".", MAX_LABELS)
    return [".".join(labels[at:]) for at in range(1, len(labels) - 1)] if labels[-1][:1].isalpha() else []


def _holder(folded: bytes, passages: Iterable[Passage], index: Index) -> Label | None:
    if not index.may_hold(folded):
        return None
    return next((passage.label for passage in passages if folded in passage.folded), None)


def _runs(folded: bytes, passages: list[Passage], index: Index) -> Iterator[tuple[int, int, Label]]:
    """The runs of letters that stand in a passage, the longest of each place, from left to right."""
    asked = _asked(folded)
    known = index.windows.intersection(asked)
    if not known:
        return
    done = 0
    for start in range(0, len(folded) - WINDOW + 1, EVERY_ASKED):
        window = folded[start : start + WINDOW]
        if start < done or window not in known:
            continue
        best: tuple[int, int, Label] | None = None
        for one in passages:
            if window in one.folded:
                low, high = _longest(folded, start, one.folded)
                if best is None or high - low > best[1] - best[0]:
                    best = low, high, one.label
        if best is not None and (best[1] - best[0] >= RUN or best[1] - best[0] == len(folded)):
            done = best[1]
            yield best


def _asked(folded: bytes) -> Sequence[bytes]:
    """The windows that are looked up; the last ones may be too short to be one."""
    if len(folded) <= MAX_AT_ONCE:
        windows: tuple[bytes, ...] = _windows_of(len(folded) // AT_ONCE + 1)(folded)
        return windows
    return [folded[start : start + WINDOW] for start in range(0, len(folded), EVERY_ASKED)]


@functools.cache
def _windows_of(pieces: int) -> itemgetter[Any]:
    """What takes all windows of so many times `AT_ONCE` letters: a third of what taking them one by one costs."""
    return itemgetter(*[slice(start, start + WINDOW) for start in range(0, pieces * AT_ONCE, EVERY_ASKED)])


def _longest(folded: bytes, start: int, held: bytearray) -> tuple[int, int]:
    """How far the window at `start` can be stretched, first to the right and then to the left, and still be held."""
    low, high = start + WINDOW, len(folded)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if folded[start:middle] in held else (low, middle - 1)
    end, low, high = low, 0, start
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if folded[middle:end] in held else (middle + 1, high)
    return high, end


def _places(text: str, size: int) -> list[int]:
    """Where in the text each byte of its folded form comes from; of letters that fold otherwise alone, about where."""
    places = [index for index, letter in enumerate(text) for _ in fold(letter)]
    return places + [len(text) - 1] * (size - len(places))
