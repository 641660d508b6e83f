"""How a program failed: its status and its last words, as a `ToolError`.

The table of the binding decides the code; its patterns come from a third party and are searched by an engine of linear
time, in the last 4,096 characters alone. What the program said is third-party text too: it is cleaned, it is short,
tracebacks are reduced to their last line, and paths of the host and values of the environment are taken out of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry, TextContent, ToolError, ToolResult
from pegboard_manifest.hygiene import sanitise
from pegboard_manifest.texts import clean_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TAIL = 4_096
"""Characters of standard error that are looked at."""
MAX_TAIL = 16_384
"""Characters of it that are read at all."""
MAX_LINES = 8
MAX_LINE = 300
MAX_DETAIL = 1_500
MAX_OUTPUT = 4_000
"""Characters of standard output that the error of a failed program shows: most of the beginning, some of the end."""
MAX_END = 1_000
MAX_SECRET = 2_000
"""A secret of at most so many characters is not shown in part where an output was cut."""
MAX_REGEX_BYTES = 1 << 20
"""Memory that one compiled pattern may take."""

USAGE_STATUS = 2
"""What programs say of a wrong call, by an old custom that click, argparse and getopt follow."""

_TRACE = re.compile(r"Traceback \(most recent call last\):")
_FRAME = re.compile(r"""\s*(?:File "[^"]*", line \d+|at .*\(?[^()\s]*:\d+(?::\d+)?\)?$|[~^\s]+$)""")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]{1,300}@")
_PART = r"[^\s/'\"`<>|:;,()\[\]{}]"
_ABSOLUTE = (
    r"(?P<url>\b(?!file:)[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/'\"`<>][^\s'\"`<>]*)"  # with a host: not of this one
    r"|(?<=')/[^'\n]+(?=')|(?<=\")/[^\"\n]+(?=\")|(?<=`)/[^`\n]+(?=`)"  # blanks in quotes are of the path
    rf"|(?:(?<![\w./~])(?<!<tmp>)(?<!<python>)(?<!<program>)|(?<=\s-[A-Za-z]))/+{_PART}+(?:/+{_PART}*)+"
    r"|\b[A-Za-z]:[\\/][^\s'\"<>|]+|(?<![\w\\])\\\\[\w.$-]+\\[^\s'\"<>|]+"
)
"""A path that begins at the root, wherever that is: every one but those behind `~` and the names that `scrubber` gives.
A text that begins so may be of an HTTP API; nobody can tell."""
_CAUSE = re.compile(r"(?:[\w./-]{1,100}: )?(?:fatal|error|[\w.]{0,100}(?:Error|Exception))(?::|\[)", re.IGNORECASE)


def is_success(binding: Mapping[str, Any], status: int, stdout: bytes | str, stderr: str) -> bool:
    """Whether a program has answered: by its status alone, or by one that is an answer where it has nothing but output.

    That `1` with findings on standard output and silence on standard error is an answer is an old custom of `grep`,
    `diff` and linters; what fails says so on standard error.

    .. versionadded:: 0.1
    """
    if status in binding.get("success", (0,)):
        return True
    return status in binding.get("success_with_output", ()) and bool(stdout.strip()) and not stderr.strip()


def answered(binding: Mapping[str, Any], status: int, data: Mapping[str, Any]) -> ToolResult:
    """The result of a program that answered with a status other than 0, which the caller is told: programs in
    `details`, and models in a text where the data alone would not say it.

    Args:
        binding: of kind subprocess.
        status: one that `is_success`.
        data: of the result.

    .. versionadded:: 0.1
    """
    text = data["result"] if data.keys() == {"result"} and isinstance(data["result"], str) else None
    made = ToolResult.json(data) if text is None else ToolResult((TextContent(text),), data)
    details: dict[str, Any] = {"status": status}
    more: tuple[TextContent, ...] = ()
    if status not in binding.get("success", (0,)):
        details["success"] = "guessed: it wrote to its standard output, and nothing to its standard error"
        more = (TextContent(f"(exit status {status}, taken for an answer: nothing was written to standard error)"),)
    elif text is not None and not text.strip():
        more = (TextContent(f"(no output; exit status {status})"),)
    return attrs.evolve(made, content=(*made.content, *more), details=details)


def error_of(
    binding: Mapping[str, Any],
    status: int,
    stderr_tail: str,
    stdout: bytes = b"",
    *,
    scrub: Callable[[str], str] | None = None,
    idempotent: bool = False,
) -> ToolError:
    """The error of a program that ended with a status that is not a success.

    Args:
        binding: of kind subprocess.
        status: as the system says it; below zero, the signal that ended the program.
        stderr_tail: the end of its standard error.
        stdout: its standard output, which stands in the details in part.
        scrub: takes out of a text what the caller may not see; see `scrubber`.
        idempotent: repeating the call is harmless.

    .. versionadded:: 0.1
    """
    tail = stderr_tail[-TAIL:]
    row = next((row for row in binding.get("exits", ()) if _fits(row, status, tail)), None)
    default = ErrorCode.INVALID_INPUT if status == USAGE_STATUS else ErrorCode.UPSTREAM_ERROR
    code = ErrorCode(row["code"]) if row else default
    lines = last_words(stderr_tail, scrub)
    details: dict[str, Any] = {"status": status, "executed": True}
    if lines:
        details["stderr"] = lines
    if output := shown_output(stdout, scrub):
        details["stdout"] = output
    if idempotent and code is ErrorCode.UPSTREAM_ERROR:
        details["retry"] = (Retry.SAME if status < 0 else Retry.CHANGED).value
    parts = [(row and clean_line(row.get("message", ""))) or _ended(status)]
    if lines or output:
        parts.append(_telling(lines or output))
    return ToolError(code, ": ".join(parts), details)


def _ended(status: int) -> str:
    if status >= 0:
        return f"the program ended with status {status}"
    import signal

    try:
        return f"the program was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"the program was ended by signal {-status}"


def _fits(row: Mapping[str, Any], status: int, tail: str) -> bool:
    if "status" in row and row["status"] not in {status, 128 - status if status < 0 else status}:
        return False
    return "stderr" not in row or is_found(row["stderr"], tail)


def is_found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text, in time linear in both; False where nothing safe can search for it."""
    matches = _matcher(pattern)
    return matches is not None and matches(text)


def pattern_fault(pattern: str) -> str | None:
    """Why a pattern of `exits` is never searched for, or None: look-around and back references take exponential time.

    .. versionadded:: 0.1
    """
    return None if _matcher(pattern) is not None else "a regular expression without look-around and back references"


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], bool] | None:
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions(size_limit=MAX_REGEX_BYTES, dfa_size_limit=MAX_REGEX_BYTES)
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=linear).is_valid
    except ValueError:
        return None


def last_words(tail: str, scrub: Callable[[str], str] | None = None) -> str:
    """The last lines of standard error as a caller may read them; of a traceback the last line alone."""
    scrub = scrub or hide_paths
    # Before anything is taken out or cut, which would leave half a secret, and after it, which may have made one whole.
    text = scrub(sanitise(scrub(tail), MAX_TAIL))
    *before, after = _TRACE.split(text)
    lines = [line for line in after.split("\n") if line.strip()]
    if before:
        lines = [line for line in lines if not line.startswith((" ", "\t"))][-1:]
    lines = [line[:MAX_LINE] for line in lines[-50:]]
    return "\n".join([line for line in lines if not _FRAME.fullmatch(line)][-MAX_LINES:])[-MAX_DETAIL:]


def shown_output(stdout: bytes, scrub: Callable[[str], str] | None = None) -> str:
    """What a failed program wrote, as a caller may read it: the beginning, and of a longer output the end too."""
    scrub = scrub or hide_paths

    def read(part: bytes) -> str:
        return scrub(sanitise(scrub(part.decode("utf-8", "replace")), MAX_TAIL))

    if len(stdout) <= MAX_TAIL:
        whole = read(stdout)
        return whole if len(whole) <= MAX_OUTPUT else _joined(whole, whole)
    # Half a secret where the output is cut would not be recognised.
    return _joined(read(stdout[:MAX_TAIL])[:-MAX_SECRET], read(stdout[-MAX_TAIL:])[MAX_SECRET:])


def _joined(beginning: str, end: str) -> str:
    return f"{beginning[: MAX_OUTPUT - MAX_END]}\n…\n{end[-MAX_END:]}"


def _telling(text: str) -> str:
    """The line that says most: the last that names itself an error, else the last, where programs put the cause."""
    lines = [line.strip() for line in text.split("\n")]
    return sanitise(next(filter(_CAUSE.match, reversed(lines)), lines[-1]), MAX_LINE, one_line=True)


def hide_paths(text: str, keep: Iterable[str] = ()) -> str:
    """The text with each absolute path reduced to its last part, and credentials taken out of URLs.

    Args:
        text: what a program said.
        keep: paths that stay, where they stand whole.
    """
    kept = sorted({path for path in keep if path in text}, key=len, reverse=True)
    own = "|".join(map(re.escape, kept)) or r"(?!)"
    pattern = rf"(?P<kept>(?<![\w./~])(?:{own})(?=\.?(?:[\s'\"`<>|:;,()\[\]{{}}]|$)))|{_ABSOLUTE}"

    def shortened(match: re.Match[str]) -> str:
        if match["kept"] or match["url"]:
            return match[0]
        return "…/" + re.split(r"[/\\]", match[0].rstrip("/\\"))[-1]

    return _CREDENTIALS.sub("***@", re.sub(pattern, shortened, text))


def scrubber(
    named: Mapping[str, str], folders: Mapping[str, str], secrets: Iterable[str], given: Iterable[str] = ()
) -> Callable[[str], str]:
    """What takes host paths and secrets out of a text.

    Args:
        named: paths that were handed over, and what the caller called them.
        folders: folders of the host, and what stands for them.
        secrets: values that must not be read.
        given: absolute paths that the caller named and may read.
    """
    pairs = [(secret, "***") for secret in secrets if secret]
    pairs += [(path, name) for path, name in named.items() if len(path) > 2]
    pairs += [(folder, name) for folder, name in folders.items() if len(folder) > 1]
    pairs.sort(key=lambda pair: len(pair[0]), reverse=True)  # the longest first, so that none is left in part

    def scrub(text: str) -> str:
        for old, new in pairs:
            if old in text:
                text = text.replace(old, new)
        return hide_paths(text, given)

    return scrub
