"""Run the Python blocks of a page, one after the other, in the interpreter of its reader.

On standard input stands one JSON object a line, `{"code": ..., "where": ..., "line": ...}`; each is answered by one
line `{"printed": ..., "problem": ...}`, the problem being a traceback or null. The blocks share their names.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
import types
from pathlib import Path


def main() -> None:
    asked, answers = sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a block's own programs print is not an answer
    sys.stdin = io.StringIO()
    sys.path[0] = str(Path.cwd())
    sys.modules["page"] = page = types.ModuleType("page")
    for line in asked:
        block = json.loads(line)
        printed, problem = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            try:
                code = compile("\n" * block["line"] + block["code"], block["where"], "exec", dont_inherit=True)
                exec(code, page.__dict__)
            except BaseException:  # SystemExit and Ctrl-C are what the block did, too
                problem = traceback.format_exc()
        print(json.dumps({"printed": printed.getvalue(), "problem": problem}), file=answers, flush=True)


if __name__ == "__main__":
    main()
