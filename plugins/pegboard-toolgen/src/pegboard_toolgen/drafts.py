"""What discovery finds: drafts of tools, and what was left out with its reason. Values alone; nothing here does I/O.

Every discovery (a click tree, argparse, `--help`, a library, an OpenAPI document) answers with one `Discovery`, whose
parts already have the shapes of the manifest. What follows (hints, names, categories, merge) is the same for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = Any
Kind = Literal["click", "argparse", "help", "library", "openapi"]
Category = Literal["read", "write", "admin", "analytics"]
Risk = Literal["low", "medium", "high"]
Idempotency = Literal["idempotent", "not_idempotent", "unknown"]
UNDESCRIBED = "its source describes it nowhere"
"""A note of drafts whose description says no more than their name."""


@attrs.frozen(kw_only=True)
class Draft:
    """One tool as its source shows it, before hints, names and judgement.

    Args:
        id: what it binds, and so who it is: `program:sqlite-utils insert`, `python:humanize.intcomma`,
            `http:GET /buckets/{id}`. Never made of an order, a counter or a description.
        words: what its name is made of, in order: `("sqlite-utils", "insert")`.
        better: names that the source knows for it, the best first, each in words; `words` come after them.
        binding: as in the manifest.
        input_schema: an object schema, closed; may point into `Discovery.defs` by `#/$defs/NAME`.
        output_schema: of the result's data, an object.
        description: the source's own words, sanitised.
        title: a few words for a person.
        category: what the source says of it (a GET reads); None where nobody can tell, which is a write.
        unknown: why nobody can tell whether it reads or writes, where a reason is known.
        risk: None where the source says nothing.
        idempotency: by the source's own rules (a PUT is idempotent).
        timeout_ms: where the source says one.
        errors: `{"code", "when"}` each.
        examples: `{"input", "description"?, "output"?}` that the source itself gives.
        side_effects: sentences.
        notes: what was lost or guessed on the way: a parameter that was dropped, a type nobody gave.
        warnings: what no schema and no judge of paths holds, for whoever calls the tool: SQL that may open files.
        where: its place in the source: a command path, `file:line` relative to the root, a JSON pointer.
        kind: which discovery found it.
        runs_code: why it runs arbitrary code (`python -c`, eval, a shell), waits for a person or does not end by
            itself; such a draft is left out unless a hint names it.
        tags: the source's own groups.
        order: its parameters, what matters most first; () where the source does not tell, and all are shown.

    .. versionadded:: 0.1
    """

    id: str
    words: tuple[str, ...]
    binding: Mapping[str, Json]
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json]
    description: str
    kind: Kind
    where: str
    title: str | None = None
    category: Category | None = None
    unknown: str = ""
    risk: Risk | None = None
    idempotency: Idempotency | None = None
    timeout_ms: int | None = None
    errors: Sequence[Mapping[str, Json]] = ()
    examples: Sequence[Mapping[str, Json]] = ()
    side_effects: Sequence[str] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    runs_code: str | None = None
    tags: Sequence[str] = ()
    better: Sequence[tuple[str, ...]] = ()
    order: Sequence[str] = ()


@attrs.frozen
class LeftOut:
    """What the source has and no tool covers, with the reason; reported, and written to `tools.draft.json`.

    Args:
        id: as of a draft, or `module NAME`.
        why: a sentence's end.
        where: as of a draft.
        offers: how many functions would come if a glob of `--include` asked for them; 0: none can.

    .. versionadded:: 0.1
    """

    id: str
    why: str
    where: str = ""
    offers: int = 0


@attrs.frozen(kw_only=True)
class Discovery:
    """All that one source gave. `servers`, `programs`, `modules`, `defs` and `source` have the manifest's shapes.

    .. versionadded:: 0.1
    """

    source: Mapping[str, Json]
    drafts: Sequence[Draft] = ()
    left_out: Sequence[LeftOut] = ()
    servers: Mapping[str, Json] = attrs.field(factory=dict)
    programs: Mapping[str, Json] = attrs.field(factory=dict)
    modules: Mapping[str, Json] = attrs.field(factory=dict)
    defs: Mapping[str, Json] = attrs.field(factory=dict)
    name: str = ""
    version: str = ""
    description: str = ""


class DiscoveryError(Exception):
    """A source that cannot be read at all; `hint` says what to do. One bad part of a source is a `LeftOut` instead.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
