"""A command as text, split into words by the rules of a POSIX shell, without a shell.

The invariant: any text is split into a non-empty list on which a POSIX shell, `shlex.split` and this reader agree, or
it is INVALID_INPUT. So what a shell would act on - pipes, redirection, substitution, variables, patterns, several
commands - is refused by name and position instead of being taken for a word; so is what the three read differently.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from pegboard import ErrorCode, ToolError
from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARACTERS = 32_000
"""Of a whole command, whichever form it has; a kernel takes 128 KiB in one argument."""
MAX_WORDS = 1_000

ACTS = {
    "|": "pipes are not supported",
    "&": "background commands and && are not supported",
    ";": "several commands in one call are not supported",
    "\n": "several commands in one call are not supported: this is a line break",
    "<": "redirection is not supported",
    ">": "redirection is not supported",
    "(": "subshells are not supported",
    ")": "subshells are not supported",
    "`": "command substitution is not supported",
    "*": "patterns of file names are not expanded",
    "?": "patterns of file names are not expanded",
    "[": "patterns of file names are not expanded",
}
"""What a shell acts on outside of quotes, and what to say of it."""

KEYWORDS = frozenset(
    ["!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
     "select", "then", "until", "while"]
)  # fmt: skip
BUILTINS = frozenset(
    [".", "alias", "bg", "cd", "eval", "exec", "exit", "export", "fg", "jobs", "set", "source", "trap", "ulimit",
     "umask", "unalias", "unset"]
)  # fmt: skip
"""Words that a shell keeps for itself where a command begins; no program has these names, or none that means it."""

UNSEEN = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp", "Zs"])
"""Categories of characters that show as nothing, or look like a space."""

_EXPANDS = re.compile(r"[A-Za-z0-9_{(@*#?$!\-\[]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_QUOTED = "\0"


def words_of(command: str | Sequence[str]) -> list[str]:
    """The program and its arguments: a text is split, the elements of a list are taken literally.

    Raises:
        ToolError: INVALID_INPUT: the command is empty or too long, or holds what no program can be given; a text is
            not a plain command.
    """
    words = split(command) if isinstance(command, str) else _named(list(command))
    if len(words) > MAX_WORDS or sum(map(len, words)) > MAX_CHARACTERS:
        raise _invalid(f"the command is too long; at most {MAX_WORDS} words and {MAX_CHARACTERS} characters")
    for number, word in enumerate(words, 1):
        if "\0" in word:
            raise _invalid(f"word {number} holds a NUL, which no program can be given")
        if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
            raise _invalid(f"word {number} holds half of a surrogate pair, which is not text")
    return words


def split(text: str) -> list[str]:
    """Split one plain command; see the module for what is refused.

    Raises:
        ToolError: INVALID_INPUT, with the position in characters from 1.
    """
    if len(text) > MAX_CHARACTERS:
        raise _invalid(f"the command is too long; at most {MAX_CHARACTERS} characters")
    words: list[str] = []
    word: list[str] | None = None  # None between words: '' is a word, and nothing is not
    shape: list[str] = []  # the same word, with what was quoted blotted out: what a shell would look at
    start = index = 0
    while index < len(text):
        character = text[index]
        here = index + 1
        index += 1
        if character in " \t":
            if word is not None:
                words.append(_finished(word, shape, start, first=not words))
                word, shape = None, []
            continue
        if word is None:
            word, start = [], here
        if character == "'":
            end = text.find("'", index)
            if end < 0:
                raise _invalid(f"character {here}: the quote ' is not closed")
            word.append(text[index:end])
            shape.append(_QUOTED)
            index = end + 1
        elif character == '"':
            inside, index = _double_quoted(text, index, here)
            word.append(inside)
            shape.append(_QUOTED)
        elif character == "\\":
            if index == len(text):
                raise _invalid(f"character {here}: nothing follows the backslash")
            if text[index] == "\n":
                raise _invalid(f"character {here}: continued lines are not supported; write one line")
            word.append(text[index])
            shape.append(_QUOTED)
            index += 1
        else:
            _refuse_bare(text, index, character)
            word.append(character)
            shape.append(character)
    if word is not None:
        words.append(_finished(word, shape, start, first=not words))
    return _named(words)


def _named(words: list[str]) -> list[str]:
    if not words or not words[0]:
        raise _invalid("the command is empty; name a program")
    return words


def _double_quoted(text: str, index: int, opened: int) -> tuple[str, int]:
    """What stands between double quotes, and where it goes on behind them."""
    inside: list[str] = []
    while index < len(text):
        character = text[index]
        following = text[index + 1 : index + 2]
        if character == '"':
            return "".join(inside), index + 1
        if character == "`" or (character == "$" and following and _EXPANDS.match(following)):
            raise _acts(index + 1, _substitution(character, following), "use single quotes")
        if character == "\\" and following in ('"', "\\"):
            character = following
            index += 1
        elif character == "\\" and following and following in "$`\n":
            raise _acts(index + 1, "a shell would take this backslash away", "use single quotes")
        inside.append(character)
        index += 1
    raise _invalid(f'character {opened}: the quote " is not closed')


def _refuse_bare(text: str, index: int, character: str) -> None:
    """Refuse what a shell acts on, and what can be seen by nobody, where it stands outside of quotes."""
    if character in ACTS:
        raise _acts(index, ACTS[character])
    if character == "$":
        following = text[index : index + 1]
        if following and (_EXPANDS.match(following) or following in "'\""):
            raise _acts(index, _substitution(character, following))
    elif unicodedata.category(character) in UNSEEN or clean(character)[1]:
        raise _acts(index, f"U+{ord(character):04X} cannot be seen, and is not a space to a shell")


def _finished(word: list[str], shape: list[str], start: int, *, first: bool) -> str:
    """One word, once it is complete: what a shell would do with all of it is refused."""
    shown = "".join(shape)
    text = "".join(word)
    if shown.startswith("~"):
        raise _acts(start, "~ is not expanded; write the whole path")
    if shown.startswith("#"):
        raise _acts(start, "comments are not supported")
    if "{" in shown and _BRACES.search(shown):
        raise _acts(start, "braces are not expanded")
    if first and _ASSIGNMENT.match(shown):
        raise _acts(start, "variables of the environment cannot be set")
    if first and shown == text and (text in KEYWORDS or text in BUILTINS):
        raise _acts(start, f"{text!r} is a shell's own command")
    return text


def _substitution(character: str, following: str) -> str:
    return ACTS["`"] if character == "`" or following == "(" else "variables are not expanded"


def _acts(position: int, why: str, cure: str = "quote it to mean the character itself") -> ToolError:
    return _invalid(
        f"character {position}: {why}: no shell runs the command. Give one program and its arguments, or {cure}"
    )


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message)
