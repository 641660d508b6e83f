"""How a program ends, as its own words say it: whether it does so by itself, and which exit statuses are answers.

What serves, watches or waits would hold a call until its deadline. A command that does nothing else is left out; an
option that makes it so is left out alone. Guesses from names and help texts, as tables, like `_program_words`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard_toolgen.discover._program_words import _words, first_verb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SERVES = "it serves until it is ended"
WATCHES = "it watches or follows until it is ended"
WAITS = "it waits for a person"

# -- what does not end

_SERVER = r"(?:server|webserver|daemon|dashboard|event loop|scheduler|worker|listener|REPL)"
_NO_PREPOSITION = (
    r"(?:(?!(?:on|against|from|at|with|to|for|of|in|by|via|using|through|over|as|until|whether|if|when|per|and)\b)"
    r"[\w'/().-]+ ){0,5}"
)
_STARTS_SERVER = re.compile(
    rf"\b(?:starts?|runs?|launch(?:es)?|boots?|spawns?|brings? up|spins? up) {_NO_PREPOSITION}{_SERVER}\b",
    re.IGNORECASE,
)
_IS_SERVER = re.compile(
    rf"^\W*(?:an?|the) {_NO_PREPOSITION}{_SERVER}\b|^\W*serves?\b|^\W*listens? (?:for|on|to)\b", re.IGNORECASE
)
_CHANGE = r"(?:chang\w*|modif\w*|events?|updates?|edit(?:s|ed))"
_WATCH_FOR = re.compile(
    rf"\b(?:watch(?:es|ing)?|monitor(?:s|ing)?|wait(?:s|ing)? for|poll(?:s|ing)?)\b[^.;]{{0,60}}\b{_CHANGE}\b|"
    rf"\bre-?(?:run|build|check|load|start|compil|execut|lint|format|test|render)\w*\b[^.;]{{0,60}}"
    rf"\b(?:when|whenever|on|upon|as|if|after|each time)\b[^.;]{{0,40}}\b{_CHANGE}\b|\bwatch mode\b",
    re.IGNORECASE,
)
_FOR_EVER = re.compile(
    r"\buntil (?:(?:it|you|the user|it is|they are|being|the process is|manually) )?(?:is )?(?:press|hit|"
    r"interrupt|kill|stopp?ed|terminated|cancel|ctrl|control-c)|\b(?:press|hit) ctrl\b|"
    r"\bruns? (?:forever|continuously|indefinitely|in the (?:foreground|background))\b|\bkeeps? (?:running|listening|"
    r"watching)\b|\b(?:as|into) (?:a |the )?(?:daemon|background (?:process|service))\b|\blive stream\b",
    re.IGNORECASE,
)
_GROWS = re.compile(
    r"\bas (?:the )?(?:files?|it|they|data) (?:grows?|arrives?|comes? in|is written|are written)\b|\bappended data\b|"
    r"\bcontinuously\b|\bstream(?:s|ed|ing)? (?:the )?(?:logs?|events?|journal)\b|\blogs? (?:should be|are) streamed\b|"
    r"\bfollow(?:s|ing)? (?:the )?(?:logs?|journal|output|stream|events?)\b|"
    r"\bnew (?:log )?(?:lines|entries|messages|events|records)\b[^.;]{0,30}\b(?:arrive|appear|come|written|"
    r"appended|print)\w*",
    re.IGNORECASE,
)
_BINDS = re.compile(
    r"\b(?:listens?|listening) (?:on|to|at|for)\b|\bto (?:listen|serve|bind)(?: (?:on|to|at))?(?:$|[.,;)]| on\b)|"
    r"\bbind(?:s|ing)? (?:a |the )?(?:socket|server|host|port|to (?:this|the) (?:host|port|address|interface))\b|"
    r"\bfor (?:the )?(?:\w+ )?server\b[.;]? ?(?:$|defaults?\b)|"
    r"\b(?:server|serve|serving) (?:on|at) (?:this )?(?:port|host)\b",
    re.IGNORECASE,
)
_PLACES = frozenset({"host", "port", "bind", "listen", "address", "addr", "socket", "interface", "uds", "http"})
_PERSON = re.compile(
    r"\bin (?:an|your|the) (?:\w+ )?editor\b|\b(?:terminal|text|graphical) user interface\b|\bTUI\b|\bfull[- ]screen\b|"
    r"^\W*interactively\b|\b(?:opens?|starts?|launch(?:es)?) (?:an? |the )?(?:\w+ )?(?:GUI|editor)\b",
    re.IGNORECASE,
)
_SERVERS = frozenset({"serve", "server", "runserver", "daemon", "lsp", "devserver", "httpd"})
_PREVIEWS = frozenset({"preview", "dev", "develop", "start"})
"""What these show is looked at in a browser, where they have a port."""
_COMPOUND = re.compile(r"^(?:run|start|dev|debug|http|web|api|file|test|language|lang|live)[-_](?:server|daemon)$")
_MANAGES = _words(
    """
    show list get print display add create register new delete remove rm set unset update edit stop kill restart reload
    check validate query describe info inspect connect test ping manage configure import export upload download
    """
)
_ENDLESS_FLAGS: Mapping[str, str] = {
    **dict.fromkeys(("watch", "watch-mode", "watchall", "watch-all", "watch-files"), WATCHES),
    **dict.fromkeys(("serve", "listen", "daemon", "daemonize", "lsp", "run-server", "start-server"), SERVES),
    "repl": WAITS,
}
_CLIENT = re.compile(r"\b(?:connect|talk|send|attach|query|use) (?:\w+ ){0,3}(?:to|with|the)\b", re.IGNORECASE)


def endless_command(words: Sequence[str], text: str, options: Iterable[tuple[Sequence[str], str]] = ()) -> str | None:
    """Why a command does not end by itself, or None.

    Args:
        words: the program and its commands; the last is the command's own.
        text: its help.
        options: flags and help of each of its options.
    """
    summary = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    sentence = re.split(r"(?<=[\w)])[.;](?:\s|$)", " ".join(summary.split()), maxsplit=1)[0]
    word = words[-1].lower() if words else ""
    if _FOR_EVER.search(_without_options(" ".join(summary.split()))):
        return WATCHES
    if first_verb(sentence) in _MANAGES:
        return None
    if word in _SERVERS or _COMPOUND.match(word) or _STARTS_SERVER.search(sentence) or _IS_SERVER.search(sentence):
        return SERVES
    plain = _without_options(sentence)
    if _WATCH_FOR.match(_from_verb(plain)) or (word in ("watch", "follow") and _GROWS.search(plain)):
        return WATCHES
    if _PERSON.search(plain):
        return WAITS
    known = list(options)
    if any(_ENDLESS_FLAGS.get(flag.strip("-").lower()) == SERVES for flags, _ in known for flag in flags):
        return None  # it serves where it is asked to, and only then
    if word in _PREVIEWS and any("port" in _parts(flags) for flags, _ in known):
        return SERVES
    binding = [flags for flags, said in known if _BINDS.search(said) and _PLACES & _parts(flags)]
    return SERVES if binding else None


def endless_option(flags: Iterable[str], text: str) -> str | None:
    """Why an option makes its program go on until it is ended, or None. `--follow` of links, of redirections or of a
    file's history does not."""
    sentence = re.split(r"(?<=[\w)])[.;](?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
    for flag in flags:
        why = _ENDLESS_FLAGS.get(flag.strip("-").lower())
        if why and not _CLIENT.search(sentence):
            return why
    if _STARTS_SERVER.search(sentence):
        return SERVES
    return WATCHES if any(one.search(sentence) for one in (_WATCH_FOR, _FOR_EVER, _GROWS)) else None


def _without_options(text: str) -> str:
    """A text up to where it speaks of an option: what that does is not what the command does."""
    return re.split(r"(?<![\w-])--?[A-Za-z]", text, maxsplit=1)[0]


def _from_verb(sentence: str) -> str:
    """A sentence from the verb on by which it watches, if that is one of its first: `Build it and watch for ...`."""
    found = re.match(
        r"(?:(?!to\b|when\b|with\b|while\b|using\b)[\w/'-]+,? ){0,6}?(?=(?:watch|monitor|wait|poll|re-?)\w*\b)",
        sentence,
    )
    return sentence[found.end() :] if found else sentence


def _parts(flags: Sequence[str]) -> set[str]:
    return {part for flag in flags for part in re.split(r"[-_]+", flag.lower()) if part}


# -- which exit statuses are answers

FINDS: tuple[int, ...] = (0, 1)
_SEARCH_OR_COMPARE = """
    grep egrep fgrep zgrep bzgrep xzgrep rg ag ack ugrep pgrep diff cmp zdiff zcmp sdiff diff3 colordiff which expr
    """
"""1 is nothing found, or a difference."""
_CHECK = """
    yamllint flake8 pycodestyle pydocstyle pyflakes mypy pyright basedpyright ruff black isort bandit shellcheck eslint
    stylelint jshint standard prettier markdownlint mdl vale hadolint djlint cspell proselint doc8 rstcheck deptry
    check-jsonschema interrogate refurb jsonlint htmlhint tidy tflint actionlint golint staticcheck rubocop luacheck
    """
"""1 is something found."""
_ANSWERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_words(_SEARCH_OR_COMPARE) | _words(_CHECK), FINDS),
    **dict.fromkeys(("git grep", "git diff", "ruff check", "ruff format", "sqlfluff lint", "pip check"), FINDS),
    "vulture": (0, 3),
    "typos": (0, 2),
    "ansible-lint": (0, 2),
    "pylint": tuple(range(0, 32, 2)),  # a sum of kinds of messages, of which 1 is a fatal one, and 32 a wrong call
}
"""Of programs, or of programs with a command, by their own manuals."""
_STATUS_TEXT = re.compile(r"\bexit(?:s|ed)?(?:[ -](?:with|status|codes?|value|statuses))*\b", re.IGNORECASE)
_ONE = re.compile(r"(?<![\w.])1(?![\w.]|\.\d)")
_IS_ANSWER = re.compile(
    r"\botherwise\b|\bdiffer|\bno (?:match|lines?|file)|\bnot? (?:be )?(?:found|match)|\bcould be found|\bmatch|"
    r"\bfound\b|"
    r"\bviolations?\b|\bissues?\b|\bwarnings?\b|\bfindings?\b|\bwould\b|\bdiscrepanc|\btypos?\b|\bchang",
    re.IGNORECASE,
)
_IS_TROUBLE = re.compile(
    r"\b(?:error|errors|trouble|problems?|fail\w*|cannot|can't|unable|invalid|serious|usage|abort\w*|exception|missing|"
    r"unexpected|fatal|wrong)\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(r"\b(?:success\w*|ok|okay|no error|without error|completed|fine)\b", re.IGNORECASE)
_NON_ZERO = re.compile(
    r"\bnon-?zero\b[^.;]{0,40}\b(?:warnings?|findings?|issues?|violations?|changes?|differences?)\b", re.IGNORECASE
)
_EXIT_ZERO = re.compile(
    r"\bexit\w*\b[^.;]{0,40}\b0\b[^.;]{0,20}\b(?:even|regardless|despite|always)\b|\balways exit\w*\b[^.;]{0,30}\b0\b",
    re.IGNORECASE,
)


def success_of(
    words: Sequence[str], text: str, options: Iterable[tuple[Sequence[str], str]] = ()
) -> tuple[int, ...] | None:
    """The exit statuses that are answers, where the program is known or its help says it; else None.

    Args:
        words: the program and its commands.
        text: all of its help.
        options: flags and help of each of its options.
    """
    if known := _ANSWERS.get(" ".join(words)):
        return known
    texts = [text, *(said for _, said in options)]
    if any("exit" in one and (_EXIT_ZERO.search(one) or one_is_answer(one)) for one in map(str.lower, texts)):
        return FINDS
    return None


def also_answers(options: Iterable[tuple[Sequence[str], str]], success: Sequence[int] | None) -> list[int]:
    """Exit statuses that are answers where there is output and nothing on standard error: 1 by custom, 65 since that
    speaks of the user's data and not of the call (EX_DATAERR, sysexits(3)), and 2 where an option says that it makes
    the status of findings another one (`--strict`: non-zero on warnings, too)."""
    makes_another = any(_NON_ZERO.search(said) for _, said in options)
    statuses = [1, *([2] if makes_another else []), *([] if success else [65])]
    return [status for status in statuses if status not in (success or ())]


def one_is_answer(text: str) -> bool:
    """Whether a text says that the exit status 1 is an answer: that nothing was found, that two things differ."""
    flat = " ".join(text.split())
    for found in list(_STATUS_TEXT.finditer(flat))[:20]:
        begin = max(flat.rfind(mark, 0, found.start()) for mark in (". ", "; ", ") ")) + 1
        clauses = re.split(r"[,;](?:\s|$)|\.(?:\s|$)|(?<=\d)\s+-\s+(?=\d)", flat[max(0, begin) : found.start() + 400])
        for index, clause in enumerate(clauses[:12]):
            if not _ONE.search(clause) or _IS_TROUBLE.search(clause):
                continue
            before = clauses[index - 1] if index else ""
            whole = f"{before} {clause}" if re.match(r"\s*(?:then|the exit)\b", clause) else clause
            if _IS_TROUBLE.search(whole):
                continue
            if "otherwise" in whole.lower() and (_IS_DONE.search(before) or not before):
                continue
            if _IS_ANSWER.search(whole):
                return True
    return False
