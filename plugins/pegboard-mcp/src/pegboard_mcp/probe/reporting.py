"""What came of looking at a server, in words and as JSON."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_mcp.probe.checks import CHECKS, verdict_of

if TYPE_CHECKING:
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.probe.looking import Report

UNSEEN = "it ran without a sandbox: what it opened and whom it reached was not seen"


def pin_of(report: Report) -> str:
    """What the definitions of a server come to, as one text: another pin is another server."""
    offered = report.offered
    text = "" if offered is None else json.dumps(attrs.asdict(offered), sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


VERDICTS = {
    "danger": "do not use it: {count} found that no honest server needs",
    "warning": "look first: {count} to look at",
    "note": "nothing bad was found",
    None: "nothing was found",
}


def to_json(definition: ServerDefinition, report: Report) -> dict[str, Any]:
    """The report as one JSON object: `pegboard probe --json`."""
    verdict = verdict_of(report.findings)
    is_seen = report.offered is not None or verdict == "danger"
    return {
        "server": definition.shown,
        "verdict": verdict or "clear" if is_seen else "unreachable",
        "confined": report.is_confined,
        "problem": None if report.problem is None else {"why": report.problem[0], "fix": report.problem[1]},
        "findings": [
            {"check": one.check, "level": one.level, "where": one.where, "what": CHECKS[one.check].what, "why": one.why}
            for one in report.findings
        ],
        "wanted_to_reach": report.reached,
        "offers": {} if report.offered is None else {
            key: len(getattr(report.offered, key)) for key in ("tools", "prompts", "resources", "templates")
        },
        "pin": None if report.offered is None else pin_of(report),
    }  # fmt: skip


def words_of(report: Report) -> str:
    """The verdict in words."""
    verdict = verdict_of(report.findings)
    return VERDICTS[verdict].format(count=sum(one.level == verdict for one in report.findings))
