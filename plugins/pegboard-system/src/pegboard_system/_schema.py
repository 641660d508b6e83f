"""The tools' data, from which their output schemas are derived.

Apart from the code that makes it, so that listing the tools imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, Literal, TypedDict

Level = Literal["rlimits", "landlock", "bubblewrap"]
LEVELS: tuple[Level, ...] = ("rlimits", "landlock", "bubblewrap")
"""The isolations, the weakest first."""
Encoding = Literal["utf-8", "escaped"]


class Echoed(TypedDict):
    message: str


class SystemFacts(TypedDict):
    platform: str
    system: str
    release: str
    version: str
    machine: str
    processor: str
    python_version: str
    cwd: str
    user: str


class CommandEnded(TypedDict):
    exit_code: Annotated[int, "0 is success; 128 + N: ended by the signal N"]
    stdout: str
    stderr: str
    truncated: Annotated[bool, "whether there was more output than stands here"]
    level: Annotated[Level, "the isolation that was in force"]
    encoding: Annotated[
        Encoding, "escaped: a byte that is not UTF-8 stands as \\xNN, and a backslash as two, in both texts"
    ]
