"""What the words of a command line say about it: whether it reads or writes, whether it runs code, what is a path.

Guesses from names and help texts, as tables. A guess is only taken where its error is safe: what is in doubt is not
a category at all (a write), a path that may be written, a command that is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard_toolgen.drafts import Category, Idempotency, Risk


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READ = _words(
    """
    list ls show get search find grep dump display print view describe info status cat head tail look inspect
    output report render read tree which whoami version help filter sort diff compare check validate
    verify lint explain preview export log blame rows tables views schema indexes triggers columns history
    outdated
    """
)
ANALYTICS = _words(
    """
    stat stats statistics summarize summarise summary count measure profile benchmark
    """
)
WRITE = _words(
    """
    insert add create new set update upsert write save import put append replace rename move mv copy cp
    transform alter apply push commit merge rebase upload publish send post patch edit touch mkdir extract
    populate rebuild duplicate tag sync pull clone init generate build bulk convert execute run migrate restore
    load index
    """
)
DESTRUCTIVE = _words(
    """
    delete drop remove rm rmdir purge destroy truncate clear reset uninstall prune wipe erase kill unset unlink
    clean revoke deprecate unpublish
    """
)
ADMIN = _words(
    """
    vacuum optimize optimise configure config grant revoke login logout start stop restart enable disable setup
    install uninstall upgrade downgrade migrate register unregister serve daemon
    """
)
INTERPRETERS = re.compile(
    r"^(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|Rscript|julia|ghc|java|jshell|osascript|"
    r"pwsh|powershell|ipython|bpython|irb|awk|gawk|mawk|sed|gdb|make|sh|bash|dash|zsh|ksh|fish|csh|tcsh|busybox|env|"
    r"xargs|parallel|sudo|su|doas|runuser|ssh|rsh|telnet|nc|ncat|socat|watch|nohup|nice|timeout|time|strace|ltrace|expect|"
    r"screen|tmux|script|setsid|chroot|unshare|nsenter|docker|podman|kubectl|vi|vim|nvim|emacs|nano|ed|ex|less|more|man|"
    r"vipe|vidir|vipw|vigr|visudo|npx|uvx|pipx)[\d.]*$"
)

_RUNNERS = {
    "eval": "it evaluates code",
    "exec": "it runs commands",
    "execute-script": "it runs scripts",
    "run": "it runs programs or scripts",
    "run-script": "it runs scripts",
    "shell": "it opens a shell",
    "sh": "it opens a shell",
    "repl": "it opens an interpreter",
    "console": "it opens an interpreter",
    "python": "it opens an interpreter",
    "debugger": "it opens an interpreter",
    "interactive": "it waits for a person",
    "edit": "it opens an editor",
    "bisect": "it can run commands",
    "filter-branch": "it runs commands",
    "submodule": "it can run commands",
    "install": "it installs software, which may run third-party code",
    "uninstall": "it removes software",
    "install-test": "it installs software, which may run third-party code",
    "ci": "it installs software, which may run third-party code",
    "plugin-install": "it installs software, which may run third-party code",
    "tool": "it installs or runs software",
    "start": "it starts programs",
    "explore": "it opens an interpreter",
    "add": "it installs software, which may run third-party code",
    "sync": "it installs software, which may run third-party code",
    "update": "it installs software, which may run third-party code",
    "upgrade": "it installs software, which may run third-party code",
    "build": "it builds software, which may run third-party code",
    "rebuild": "it installs software, which may run third-party code",
    "test": "it runs programs or scripts",
}
# Of these only where the help says so: `run` of a query is not a program.
_DOUBTFUL = frozenset(
    {"run", "start", "test", "tool", "edit", "submodule", "install", "uninstall", "explore", "console"}
)
_INSTALLERS = frozenset({"add", "build", "sync", "update", "upgrade", "rebuild"})
_PACKAGES = re.compile(r"\b(?:packages?|dependenc(?:y|ies)|environment|toolchain|plugins?)\b", re.IGNORECASE)
_SOFTWARE = re.compile(
    r"\b(?:packages?|plugins?|dependenc(?:y|ies)|modules?|PyPI|npm|software|projects?|scripts?|commands?|programs?|"
    r"editor|interpreter|interactive\w*|submodules?)\b",
    re.IGNORECASE,
)
_CODE_COMMAND = (
    (
        re.compile(
            r"\b(?:python|javascript|ruby|lua|perl|shell|arbitrary) (?:code|expressions?|snippets?|commands?)\b", re.I
        ),
        "it runs code that the caller gives",
    ),
    (
        re.compile(
            r"\binto a python shell|\binteractive (?:\w+ )?(?:shell|session|console|interpreter|prompt)\b", re.I
        ),
        "it opens an interpreter",
    ),
    (re.compile(r"\bread[- ]eval[- ]print|\bREPL\b"), "it opens an interpreter"),
)
_CODE_FILES = re.compile(r"\b\w+\.(?:py|js|sh|rb|pl|lua)\b")
_CODE_OPTION = (
    re.compile(
        r"\b(?:python|javascript|ruby|lua|perl|shell|jinja2?) (?:code|expressions?|functions?|modules?|commands?|"
        r"scripts?|file path|snippets?|templates?)\b|\bcustom sql functions?\b",
        re.IGNORECASE,
    ),
    re.compile(r"\bpath (?:to|of) (?:an? |the )?(?:\w+ )?(?:executable|interpreter|binary)\b", re.IGNORECASE),
    re.compile(r"\bconfig\w* (?:file|path)\b[^;\n]{0,80}\.(?:[cm]?[jt]s|py|rb|lua)\b", re.IGNORECASE),
    re.compile(r"\b(?:sqlite|shared|native|dynamic) (?:extension|librar(?:y|ies)|object)s?\b", re.IGNORECASE),
    re.compile(
        r"\b(?:execute|executes|run|runs|invoke|invokes|exec|spawn|pipe|pipes|filter|preprocess|pass)\b[^.;]{0,60}?"
        r"\b(?:command|program|script|executable|utility|hook)\b|\b(?:through|using|use|with) (?:the )?"
        r"(?:PROG|PROGRAM|COMMAND|CMD|SCRIPT)\b",
        re.IGNORECASE,
    ),
)
_RUNS_COMMANDS = re.compile(
    r"\b(?:runs?|executes?|launch(?:es)?|spawns?|starts?|invokes?|pipes?) (?:[\w-]+ ){0,3}"
    r"(?:commands?|programs?|scripts?|process(?:es)?)\b|"
    r"\b(?:commands?|programs?) to (?:run|execute|start|launch|spawn|invoke|benchmark|time|measure|profile|trace|watch|"
    r"repeat|monitor)\b",
    re.IGNORECASE,
)
_RUN_BY_IT = re.compile(
    r"\b(?:each|every|the|this|given) (?:command|program)s? (?:is|are|gets?) (?:then )?"
    r"(?:run|executed|started|launched)\b",
    re.IGNORECASE,
)
_CODE_FLAGS = _words(
    """
    load-extension functions eval exec execute exec-path config-env rsh rsh-command ssh-command to-command
    checkpoint-action use-compress-program info-script new-volume-script upload-pack receive-pack pager editor
    shell pre hostname-bin script-shell node-options init-module plugin plugins python-interpreter post-process
    pre-exec open-files-in-pager ext-diff textconv add-plugin load-plugin load-plugins plugin-dir plugins-dir
    execdir ok okdir
    """
)
_CHANGING_FLAGS = DESTRUCTIVE | _words(
    """
    in-place inplace write write-changes fix apply overwrite save fprint fprint0 fprintf fls force-write autofix
    """
)
_CHANGING_BEGINNINGS = frozenset({"fix", "apply", "autofix", "write"})
_CHANGES_FILES = re.compile(
    r"^(?:enables? )?(?:automatic(?:ally)? )?(?:additions? of|adds?|appl(?:y|ies) (?:\w+ )?fixes|rewrites?|"
    r"modif(?:y|ies))\b[^.]{0,80}\b(?:files?|failing lines|in[- ]place|violations)\b",
    re.IGNORECASE,
)
_PERSON_FLAGS = frozenset({"interactive", "pdb", "ipdb", "edit-todo", "edit-description", "reedit-message"})
_CODE_METAVARS = frozenset({"CMD", "COMMAND", "PROG", "PROGRAM", "SCRIPT", "EXPR_PYTHON", "CODE"})
_OUTPUT_HELP = re.compile(
    r"^(?:raw )?outputs? (?:as|in|csv|tsv|json|yaml|xml|newline|rows as|results? as|the results? as|data as|a |html|"
    r"markdown|text|first)|^(?:raw|table|csv|tsv) (?:output|format)|\b(?:table format|output format)\b|"
    r"^omit (?:csv )?headers|^print (?:as|in) |^(?:raw output)|^format the output",
    re.IGNORECASE,
)
_OUTPUT_FORMAT = re.compile(r"\b(?:table|output) (?:format|style)\b", re.IGNORECASE)
_WRITES_FILES = re.compile(
    r"\bwrites? (?:\w+ ){0,3}to (?:(?:a|an|the|its own|separate|multiple) )?(?:files?|disk)\b|\bin[- ]place\b",
    re.IGNORECASE,
)
_MAY_BE_FILE = re.compile(
    r"\b(?:may|can) (?:also )?be (?:a|the) (?:(?:path|name) (?:of|to) a )?(?:file ?name|path|file)\b|"
    r"\bor (?:a |the )?(?:path to a file|file ?name|file path|@file)\b|\bor <(?:file|file ?name|path)>",
    re.IGNORECASE,
)
_OUTPUT_WORD = re.compile(
    r"\b(?:outputs?|prints?|shows?|displays?|emits?|returns?|reports?|writes?|format)\b", re.IGNORECASE
)
_INPUT_WORD = re.compile(r"^(?:expect|treat|read|parse|input|interpret)\b", re.IGNORECASE)
_STDIN_HELP = re.compile(
    r"\bstdin\b|\bstandard input\b|\bpiped data\b|(?:^|[\s|])- *\\?$|\s-\s+--|[\"'`]-[\"'`]",
    re.IGNORECASE | re.MULTILINE,
)
_DASH = (
    r"(?:[\"'`(<\[]-[\"'`)>\]]|\b(?:use|or|if|is|as|with|pass|give|specify|when|for|to|set to) -(?=[\s,.;:)]|$)"
    r"|(?:^|[(,;.] ?)-(?= ?(?:for|means|is|to|writes?|prints?|outputs?|=|:))|\b(?:single|a) (?:dash|hyphen|minus)\b)"
)
_STDOUT_HELP = re.compile(
    rf"{_DASH}[^.]{{0,40}}\b(?:stdout|standard output)\b|\b(?:stdout|standard output)\b[^.]{{0,30}}{_DASH}",
    re.IGNORECASE,
)
_WRITES_ELSEWHERE = re.compile(
    r"^(?:outputs?|prints?|dumps?|exports?|extracts?|saves?)\b[^.]{0,120}\b(?:in)?to (?:a |an |the |one |several )?"
    r"(?:\w+ )?(?:(?!(?:JSON|CSV|TSV|XML|YAML|HTML|TOML|SQL|ASCII|UTF|STDOUT|NDJSON|GeoJSON|Markdown)\b)"
    r"(?-i:[A-Z]{3,})\w*|files?\b|director(?:y|ies)\b|disk\b)",
    re.IGNORECASE,
)
_READS_STDIN = re.compile(
    r"\b(?:from|reads?|scans?|converts?|encodes?|decodes?|formats?|parses?|the|its|on|filter|of) "
    r"(?:the )?(?:standard input|stdin)\b|"
    r"\b(?:standard input|stdin) (?:is|as|to|into|and)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^(?:in(?:put)?|src|source)(?:[-_]?(?:file|path|dir|directory|folder|filename))?s?\d?$", re.IGNORECASE
)
_OUTPUT = re.compile(
    r"^(?:out(?:put)?|dst|dest|destination)(?:[-_]?(?:file|path|dir|directory|folder|filename))?s?\d?$", re.IGNORECASE
)
_TAKES_OUT = re.compile(
    r"extracts? (?:an? |the |one )?(?:\w+ )?(?:values?|fields?|keys?|text|data|metadata|information)\b", re.IGNORECASE
)
"""What is not an archive: `get` that extracts a value."""
_STANDS_IN = re.compile(
    r"\b(?:if|when|where) (?:it is |this is )?(?:omitted|left out|missing|absent|not (?:given|set|specified|provided))"
    r"\b[^.]{0,40}\b(?:stdin|standard input)\b|"
    r"\b(?:stdin|standard input)\b[^.]{0,30}\b(?:if|when|where) (?:it is |this is )?(?:omitted|left out|missing|absent|"
    r"not (?:given|set|specified|provided))\b",
    re.IGNORECASE,
)
_READS_ITSELF = re.compile(r"\breads? (?:from |its )?(?:the )?(?:standard input|stdin)\b", re.IGNORECASE)
_NOTHING_NAMED = re.compile(
    r"\b(?:standard input|stdin)\b[^.]{0,60}\b(?:if|when|where) (?:no|none)\b|"
    r"\b(?:if|when|where|with) (?:no|none)\b[^.]{0,80}\b(?:standard input|stdin)\b|"
    r"\bdefaults? to (?:the )?(?:standard input|stdin)\b",
    re.IGNORECASE,
)
_CHANGES_WITH = re.compile(r"\bwith ([^.;\n]{0,40}?-\w[^;\n]{0,80}), (\w+ )", re.IGNORECASE)
_WRITES_OUT = re.compile(
    r"^(?:writes?|outputs?|copy|copies|concatenates?|merges?)\b[^.]{0,200}\bto (?:the )?(?:standard output|stdout)\b",
    re.IGNORECASE,
)
_PATH_NAME = re.compile(
    r"(?:^|[_\W])(?:file|path|dir|directory|folder|filename|pathname|filepath|outfile|infile)s?\d?(?:$|[_\W])", re.I
)
_PATH_HELP = re.compile(
    r"^(?:a |an |the )?(?:optional )?(?:path|file ?name|directory|folder|file)\b|\bpath to (?:a|an|the)\b|"
    r"\ba path to\b|"
    r"\b(?:specify|read|load|write|save)s? (?:(?:a|an|the|to|from) ){0,2}(?:(?!of\b|in\b|for\b)[\w-]+ ){0,3}"
    r"(?:file|directory|folder)\b",
    re.IGNORECASE,
)
_NAMES_FILE = re.compile(
    r"^\W*(?:(?!(?:of|in|for|per|from|to|by|with|if|only|whether|ignore|exclude|include|skip|checks?|process|search|filter|"
    r"select|find|sort|rename|treat|print|show|list|number|size|count|maximum|minimum|when|where|what)\b)[\w'-]+ ){0,4}"
    r"(?:files?|file ?paths?|file ?names?|director(?:y|ies)|folders?)(?:\(e?s\))?"
    r"(?:$| ?[,.;:(\[]| (?:or|and|to|for|in|containing|that|used|which|is|are|where|holding)\b)|"
    r"^\W*(?:writes?|saves?|dumps?|logs?|stores?|loads?|reads?)\b[^.;]{0,60}\b(?:to|into|from|in) "
    r"(?:(?:a|an|the|this|that|given) )?(?:[\w-]+ )?(?:file|filename|folder|directory)\b|"
    r"\bcomma[- ]separated list of (?:(?!of\b)[\w-]+ ){0,3}(?:files|paths|directories|folders)\b",
    re.IGNORECASE,
)
"""What an option takes, as its help begins: "Custom config file", "Output file or folder"."""
_NO_FILE = re.compile(
    r"\b(?:globs?|patterns?|regex\w*|regular expressions?|matching|match(?:es)?|extensions?|suffix(?:es)?|"
    r"prefix(?:es)?|encodings?|formats?|names? only|wildcards?)\b",
    re.IGNORECASE,
)
_PATH_META = re.compile(
    r"^[\[<({]*(?:\w+[-_])?(?:IN|OUT|INPUT|OUTPUT|SRC|SOURCE|DEST|LOG|CONFIG|CONF|PATCH|TEMP|TMP)?"
    r"(?:FILE|PATH|DIR|DIRECTORY|FOLDER|FILENAME|PATHNAME)S?\d?[\]>)}.]*$"
)
_WRITES = re.compile(
    r"\b(?:out|output|write|writes|written|save|saves|saved|dump|dest|destination|target|create|log)\b", re.I
)
_READS = re.compile(
    r"\b(?:in|input|read|reads|load|loads|source|from|operate on|existing|schema|config|configuration|use as|to use|"
    r"match|patterns?|search|sorted?|stacked?|convert|import|print|list|query)\b",
    re.IGNORECASE,
)
_CONNECTION = re.compile(r"\bconnection (?:string|url|uri)\b|\bdatabase ur[il]\b|\bdsn\b", re.IGNORECASE)
# A clause of a query opens no file; a whole one may attach a database, copy to a file, or load what it names.
_SQL_NAME = re.compile(r"^(?:sql|sql[_-]?(?:query|queries|statements?|script)|select)$", re.IGNORECASE)
_SQL_HELP = re.compile(
    r"^\W*(?:(?:[Tt]he|[Aa]n?|[Oo]ne or more) )?(?:SQL|XQuery|XSLT) (?:query|queries|statements?|scripts?|commands?)\b|"
    r"\b(?:[Ee]xecute|[Rr]un|[Ee]valuate)s? (?:\w+ ){0,3}(?:SQL|XQuery|XSLT)\b"
)
_SECRET = re.compile(
    r"(?:^|[_-])(?:password|passwd|passphrase|secret|token|api[_-]?key|credentials?)(?:$|[_-])", re.IGNORECASE
)
_SECRET_SHOWN = re.compile(r"\b(?:tokens?|passwords?|credentials?|secrets?|private keys?)\b", re.IGNORECASE)
_MACHINE = re.compile(
    r"\b(?:jobs?|process(?:es)?|threads?|workers?|cpus?|cores?|parallel\w*|concurren\w*)\b", re.IGNORECASE
)
_FILTER = re.compile(
    r"^(?:convert|filter|print|search|report|render|transform|translate|encode|decode|format|stack|join|merge|sort|cut|reformat)\b",
    re.IGNORECASE,
)


def words_of(text: str) -> list[str]:
    """`drop-table`, `dropTable` and `drop_table` as lower-case words."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", text)]


def first_verb(summary: str) -> str:
    """The first word of a help text in the form of a command: `Lists the tables` and `List the tables` are `list`."""
    found = re.match(r"\W*([A-Za-z]+)", summary)
    word = found[1].lower() if found else ""
    for ending, instead in (("", ""), ("s", ""), ("es", "")):
        stem = word[: len(word) - len(ending)] + instead if word.endswith(ending) else word
        if stem in READ | ANALYTICS | WRITE | DESTRUCTIVE | ADMIN:
            return stem
    return word


def _leading(summary: str) -> set[str]:
    """The verbs that a help begins with: `List, create, or delete branches` has three."""
    found = re.match(r"\W{0,4}((?:[A-Za-z-]{1,30}(?:, (?:or |and )?| or | and |/)){0,8}[A-Za-z-]{1,30})", summary)
    words = re.split(r",? (?:or |and )?|/|,", found[1]) if found else []
    return {first_verb(word) for word in words[:8] if word}


def judged(command: Sequence[str], summary: str) -> tuple[Category | None, Risk | None, Idempotency | None, str | None]:
    """Category, risk and idempotency as the name of a command and the first words of its help say; with a side effect.

    The stricter of two opinions wins. None where nothing is said.
    """
    named = set(words_of(command[-1])) if command else set()
    verb = first_verb(summary)
    every = named | {verb} | _leading(summary)
    if _WRITES_OUT.match(" ".join(summary.split())) and not named & (WRITE | DESTRUCTIVE | ADMIN):
        return "read", "low", "idempotent", None  # standard output is the answer
    if not every & (DESTRUCTIVE | ADMIN | WRITE) and _WRITES_ELSEWHERE.match(" ".join(summary.split())):
        return "write", "medium", None, None  # "Output pieces of FILE to PREFIXaa"
    if every & DESTRUCTIVE:
        return "write", "high", None, "Deletes or resets what it names."
    if every & ADMIN:
        return "admin", "medium", None, None
    # A name counts as reading only in its first word; a search that is "executed" is one, a value "extracted" too.
    first = set(words_of(command[-1])[:1]) if command else set()
    is_execution = (verb in ("execute", "run") or _TAKES_OUT.match(summary.strip())) and first & READ
    if every & WRITE and not is_execution:
        return "write", "medium", None, None
    if every & ANALYTICS or {"statistics", "statistic"} & set(words_of(summary.split(".")[0])):
        return "analytics", "low", "idempotent", None
    if verb in READ or first & READ:
        return "read", "high" if _SECRET_SHOWN.search(summary) else "low", "idempotent", None
    return None, None, None, None


def rule_of(command: Sequence[str], summary: str, category: str | None) -> str:
    """By which of its own words a command got its category, as a sentence for who checks it."""
    if category is None:
        return "Neither its name nor its help says that it only reads: it counts as a write."
    tables = {"read": READ, "analytics": ANALYTICS, "admin": ADMIN}
    known = tables.get(category, WRITE | DESTRUCTIVE)
    named = [word for word in words_of(command[-1])[:6] if word in known] if command else []
    said = [word for word in (first_verb(summary), *sorted(_leading(summary))) if word in known]
    if named:
        return f"Taken for {category} by the word {named[0]!r} of its name."
    return (
        f"Taken for {category} by the word {said[0]!r} of its help." if said else f"Taken for {category} by its help."
    )


def is_filter(summary: str) -> bool:
    """Whether the help says that it turns its input into its output."""
    return bool(_FILTER.match(summary.strip()))


def code_of_program(name: str) -> str | None:
    """Why a program as such runs arbitrary code."""
    return "it is an interpreter, a shell or starts other programs" if INTERPRETERS.match(name) else None


def code_of_command(word: str, text: str) -> str | None:
    """Why a command runs arbitrary code, by its own word and its help."""
    summary = text.strip().split("\n\n")[0]
    for pattern, why in _CODE_COMMAND:
        if pattern.search(summary):
            return why
    key = word.lower()
    if key in _INSTALLERS:
        return _RUNNERS[key] if _PACKAGES.search(summary) else None
    if key in _RUNNERS and (key not in _DOUBTFUL or not summary or _SOFTWARE.search(summary)):
        return _RUNNERS[key]
    for sentence in re.split(r"(?<=\.)\s+", text[:2000]):
        if re.search(r"\b(?:migrations?|scripts?|plugins?)\b", sentence) and _CODE_FILES.search(sentence):
            return "it runs the code of files that the caller names"
    return None


def code_of_option(flags: Iterable[str], text: str, metavar: str) -> str | None:
    """Why an option gives the program code or a program to run."""
    if any(flag.lstrip("-") in _CODE_FLAGS for flag in flags) or is_command_name(metavar):
        return "it takes code or a program to run"
    if any(pattern.search(text) for pattern in _CODE_OPTION):
        return "it takes code or a program to run"
    return None


def is_command_name(metavar: str) -> bool:
    """Whether a placeholder stands for a command or for code."""
    return metavar.strip("<>[]{}=").rstrip("0123456789").upper() in _CODE_METAVARS


def runs_commands(summary: str, whole: str = "") -> bool:
    """Whether a program says that it runs programs, in its summary or of what it takes; what it takes as a command is
    run then."""
    return bool(_RUNS_COMMANDS.search(summary) or _RUN_BY_IT.search(whole))


def why_no_flag(flags: Iterable[str]) -> str | None:
    """Why a flag without a value is not offered: it starts programs, or waits for a person."""
    names = {flag.lstrip("-") for flag in flags}
    if names & _PERSON_FLAGS:
        return "it waits for a person"
    return "it starts other programs" if names & _CODE_FLAGS else None


def is_path(name: str, metavar: str, text: str) -> bool:
    """Whether a text argument looks like a path."""
    return bool(_PATH_NAME.search(name) or _PATH_META.match(metavar) or _PATH_HELP.search(text) or names_file(text))


def names_file(text: str) -> bool:
    """Whether the help of an option that takes a text says that this is a file or a folder."""
    first = re.split(r"(?<=[\w)])\.(?:\s|$)", text, maxsplit=1)[0]
    return bool(_NAMES_FILE.search(text[:400])) and not _NO_FILE.search(first) and "globs" not in text


def is_place(name: str) -> bool:
    """Whether an argument's name says that data are read from it or written to it: `SOURCE`, `OUTPUT`."""
    return bool(_PLACE.match(name)) or is_output(name)


def is_output(name: str) -> bool:
    """Whether an argument's name says that it is written to."""
    return bool(_OUTPUT.match(name))


def access_of(name: str, text: str) -> str:
    """`read` or `write` where name and help say only that, `guess` where they say nothing, else `write`."""
    words = f"{name.replace('_', ' ').replace('-', ' ')} {text}"
    if _WRITES.search(words):
        return "write"
    return "read" if _READS.search(words) else "guess"


def changes(flags: Iterable[str], text: str) -> bool:
    """Whether an option makes a command change something, by its name or its help: `--in-place`, `--fix-only`."""
    names = [flag.lstrip("-") for flag in flags]
    by_name = any(name in _CHANGING_FLAGS or name.partition("-")[0] in _CHANGING_BEGINNINGS for name in names)
    return by_name or bool(names and _CHANGES_FILES.search(text))


def changes_with(text: str) -> str:
    """What a help says of the arguments that make a program change something: "With -s, or with FOO, set the time"."""
    sentences = _CHANGES_WITH.finditer(text[:4_000])
    return " ".join(found[1] for found in sentences if first_verb(found[2]) in WRITE | DESTRUCTIVE | ADMIN)


def writes_files(text: str) -> bool:
    """Whether the help of an option speaks of writing files."""
    return bool(_WRITES_FILES.search(text))


def may_be_file(text: str) -> bool:
    """Whether a value is a text or the name of a file, as the program sees fit."""
    return bool(_MAY_BE_FILE.search(text))


def takes_stdin(text: str) -> bool:
    """Whether a help text speaks of standard input."""
    return bool(_STDIN_HELP.search(text))


def takes_stdout(text: str) -> bool:
    """Whether the help of a file that is written says that `-` is standard output."""
    return bool(_STDOUT_HELP.search(text))


def stands_in(text: str) -> bool:
    """Whether the help of an option says that standard input is read where it is left out."""
    return bool(_STANDS_IN.search(text))


def is_replaced_by_stdin(name: str, text: str) -> bool:
    """Whether a help says that standard input is read where an argument of this name is not given."""
    left_out = rf"<?{re.escape(name)}>? (?:is|are) (?:not \w+|omitted|missing|absent)\b"
    found = rf"\b(?:if|when|where) (?:an? |the |no )?{left_out}[^.]{{0,60}}\b(?:stdin|standard input)\b"
    return bool(re.search(found, text, re.IGNORECASE))


def reads_itself(text: str) -> bool:
    """Whether a text, wherever it stands in a help, says that the program reads standard input."""
    return bool(_READS_ITSELF.search(text))


def reads_where_nothing_is_named(text: str) -> bool:
    """Whether a manual says that standard input is read where no file is named."""
    return bool(_NOTHING_NAMED.search(" ".join(text.split())))


def is_input_file(name: str) -> bool:
    """Whether an argument's name is that of a file that is read: `[file ...]`."""
    return bool(re.fullmatch(r"(?:in(?:put)?[-_]?)?(?:file|filename)s?|input", name, re.IGNORECASE))


def reads_stdin(text: str) -> bool:
    """Whether a help says that the program itself reads standard input, and no argument does."""
    return bool(_READS_STDIN.search(text))


def is_connection(text: str) -> bool:
    """Whether an option names a database by an address, which no judge of paths sees."""
    return bool(_CONNECTION.search(text))


def takes_queries(name: str, text: str) -> bool:
    """Whether a value is a query of a language that can open files itself, which no judge of paths sees."""
    if re.search(r"\bcomma[- ]separated\b", text, re.IGNORECASE):  # of names: --select RULE,RULE
        return False
    return bool(_SQL_NAME.match(name) or _SQL_HELP.search(text))


def is_secret(name: str) -> bool:
    """Whether an option would carry a secret on the command line."""
    return bool(_SECRET.search(name))


def is_of_the_machine(name: str, text: str) -> bool:
    """Whether a number given as default is likely the number of this machine's processors."""
    return bool(_MACHINE.search(f"{name.replace('_', ' ')} {text}"))


def shapes_output(flags: Iterable[str], text: str, *, has_value: bool = False) -> bool:
    """Whether a flag chooses the form of the output."""
    names = {flag.lstrip("-") for flag in flags}
    if _INPUT_WORD.match(text):
        return False
    if has_value:
        return bool(_OUTPUT_FORMAT.search(text))
    return bool(
        _OUTPUT_HELP.search(text) or (names & {"json", "jsonl", "yaml", "csv", "tsv"} and _OUTPUT_WORD.search(text))
    )
