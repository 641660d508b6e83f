"""Operations of a document as drafts: one for each method of each path, whatever its operation id.

Two passes: first every operation is read and its schemas are converted, then the schemas that they share are settled,
and each draft is made of what it needs alone. So no draft depends on another operation, nor on their order.
An operation that cannot be used costs itself and is reported.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_manifest import faults_of_http_binding, sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen._prose import line, prose, shown
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover.openapi import answers, bodies, security
from pegboard_toolgen.discover.openapi.naming import names_of, own_name, without_shared_prefix, words_of
from pegboard_toolgen.discover.openapi.parameters import Field, fields_of, merged, named
from pegboard_toolgen.discover.openapi.references import Document, Schemas, pointer_of
from pegboard_toolgen.discover.openapi.segments import plain_path, with_slashes
from pegboard_toolgen.drafts import Draft, LeftOut
from pegboard_toolgen.schemas import MAX_TEXT, UnusableError, canonical, fit, is_clean_value, is_small, needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Json = Any

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_CODE = re.compile(
    r"\b(?:runs?|executes?|executing|execution of|evaluates?|eval)\b[^.;\n]{0,40}?\b(?:arbitrary|python|javascript|js"
    r"|ruby|lua|perl|php|groovy|shell|bash|powershell) (?:code|commands?|scripts?|expressions?|snippets?|programs?)\b"
    r"|\b(?:runs?|executes?) (?:an? |the )?commands? (?:in|inside|on) (?:an?|the) |\barbitrary code\b",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"(?:(?:a |the )?(?:ok|okay|success\w*|default|created|accepted|done|no content|2\d\d)(?: |$))?"
    r"(?:(?:response|operation|answer|result|request)\b)?[ .!]*",
    re.IGNORECASE,
)
"""What documents say of an answer where their form asks for a text."""
_CODE_WORDS = frozenset(("exec", "shell", "repl"))
_READS = frozenset(("get", "head", "options", "trace"))
_REPEATABLE = _READS | {"put", "delete"}
"""RFC 9110, section 9.2: the methods that are safe, and those that are idempotent."""

MAX_OPERATIONS = 20_000
MAX_DESCRIPTION = 2_000
INPUT_BYTES = 10_000
OUTPUT_BYTES = 4_000
"""What the two schemas of a tool may take where it is listed: 16 KB together."""
MAX_EXAMPLE_BYTES = 2_000


@attrs.frozen(kw_only=True)
class Operation:
    """One operation, read and converted, before the schemas that it shares are settled."""

    method: str
    path: str
    said: Mapping[str, Json]
    fields: list[Field]
    body: bodies.Body | None
    answers: answers.Answers
    server: str
    security: list[list[str]] | None
    notes: list[str]
    where: str


class OperationReader:
    """Reads the operations of one document.

    Args:
        document: to read.
        server: id and base URL of its server.
        url: where the document came from; relative URLs are resolved against it.
        credentials: what the server's auth sends.
        is_fixed: the base URL was named by the caller: servers of paths and operations do not count.
        is_strict: hold answers to what the document says.
    """

    def __init__(
        self,
        document: Document,
        server: tuple[str, str],
        url: str | None,
        credentials: security.Credentials,
        *,
        is_fixed: bool,
        is_strict: bool,
    ) -> None:
        self.document = document
        self.server, self.base_url = server
        self.url = url
        self.credentials = credentials
        self.is_fixed = is_fixed
        self.is_strict = is_strict
        self.inputs = Schemas(document, answers=False)
        self.outputs = Schemas(document, answers=True)
        self.servers: dict[str, str] = {}
        self.has_authorization = False
        self.has_redirects = False
        self._known: dict[str, tuple[dict[str, Json], list[str]]] = {}
        paths = document.root.get("paths")
        self._paths = (
            [plain_path(path)[0] for path in paths if isinstance(path, str)] if isinstance(paths, dict) else []
        )

    def drafts(self) -> tuple[list[Draft], list[LeftOut], dict[str, Json]]:
        """The drafts, sorted by id; what was left out; the `$defs` that the drafts need."""
        left_out: list[LeftOut] = []
        operations: list[Operation] = []
        for method, path, item, said in self._listed(left_out):
            where = pointer_of("paths", path, method)
            say(f"reading {method.upper()} {path}")
            try:
                operations.append(self._operation(method, path, item, said, where))
            except UnusableError as problem:
                left_out.append(LeftOut(_id_of(method, path), str(problem), where))
        self.inputs.settle()
        self.outputs.settle()
        drafts: list[Draft] = []
        ids = [_id_of(operation.method, operation.path) for operation in operations]
        own = without_shared_prefix(
            {id_: own_name(one.said, one.method, one.path) for id_, one in zip(ids, operations, strict=True)}
        )
        for id_, operation in zip(ids, operations, strict=True):
            say(f"making a tool of {operation.method.upper()} {operation.path}")
            try:
                drafts.append(self._draft(operation, own[id_]))
            except UnusableError as problem:
                left_out.append(LeftOut(id_, str(problem), operation.where))
        return sorted(drafts, key=lambda draft: draft.id), sorted(left_out, key=lambda item: item.id), self.inputs.defs

    def _listed(self, left_out: list[LeftOut]) -> Iterator[tuple[str, str, Mapping[str, Json], Json]]:
        paths = self.document.root.get("paths")
        count = 0
        for path, said in paths.items() if isinstance(paths, dict) else ():
            if not isinstance(path, str) or path.startswith("x-"):
                continue
            where = pointer_of("paths", path)
            if said is not None and not isinstance(said, dict):
                left_out.append(LeftOut(f"http:* {_shown_path(path)}", "it is not an object", where))
                continue
            try:
                item = self.document.follow(said)
            except UnusableError as problem:
                left_out.append(LeftOut(f"http:* {_shown_path(path)}", str(problem), where))
                continue
            others = [name for name in item if name == "query"]
            more = item.get("additionalOperations")
            others += [str(name) for name in more][:20] if isinstance(more, dict) else []
            for name in others:
                left_out.append(LeftOut(_id_of(name, path), f"the method {shown(name)} cannot be sent", where))
            for method in METHODS:
                if method in item:
                    count += 1
                    if count > MAX_OPERATIONS:
                        left_out.append(
                            LeftOut(_id_of(method, path), f"there are more than {MAX_OPERATIONS:,} operations", where)
                        )
                        return
                    yield method, path, item, item[method]

    def _operation(self, method: str, path: str, item: Mapping[str, Json], said: Json, where: str) -> Operation:
        if not isinstance(said, dict):
            raise UnusableError("it is not an object")
        said = self.document.follow(said)
        _refuse_path(path)
        notes: list[str] = []
        parameters = merged(self.document, notes, item.get("parameters"), said.get("parameters"))
        path, marked = plain_path(path)
        fields = fields_of(parameters, path, self.inputs, notes, secret=self.credentials.places)
        fields = with_slashes(fields, path, marked, parameters, self._paths)
        if any(
            parameter["in"] == "header" and parameter["name"].lower() == "authorization" for parameter in parameters
        ):
            self.has_authorization = True
        body = self._body(said, parameters, {name for name, _ in named(fields)}, method, notes)
        produces = self._media_types(said, "produces")
        found = answers.answers_of(said.get("responses"), method.upper(), produces, self.outputs, notes)
        self.has_redirects |= found.redirects
        return Operation(
            method=method,
            path=path,
            said=said,
            fields=fields,
            body=body,
            answers=found,
            server=self._server(item, said, notes),
            security=self.credentials.security_of(said.get("security", self.document.root.get("security")), parameters),
            notes=notes,
            where=where,
        )

    def _body(
        self,
        said: Mapping[str, Json],
        parameters: list[dict[str, Json]],
        taken: set[str],
        method: str,
        notes: list[str],
    ) -> bodies.Body | None:
        request = said.get("requestBody")
        if self.document.is_swagger_2:
            from pegboard_toolgen.discover.openapi.swagger2 import body_of

            request = body_of(parameters, self._media_types(said, "consumes"))
        body = bodies.body_of(request, self.inputs, notes, taken)
        if body is not None and method == "trace":
            notes.append("A TRACE request has no body (RFC 9110, section 9.3.8); it was left out.")
            return None
        if body is not None and method in ("get", "head"):
            notes.append(f"The document gives {method.upper()} a body; servers are free to ignore it.")
        return body

    def _media_types(self, said: Mapping[str, Json], key: str) -> list[str]:
        listed = said.get(key, self.document.root.get(key))
        listed = listed[:20] if isinstance(listed, list) else []
        return [media_type for item in listed if (media_type := bodies.media_type_of(item))]

    def _server(self, item: Mapping[str, Json], said: Mapping[str, Json], notes: list[str]) -> str:
        """The server of an operation, where it or its path names one of its own."""
        if self.is_fixed:
            return self.server
        for holder in (said, item):
            for url in security.urls_of(holder.get("servers")):
                if base := security.usable(url, self.url):
                    if base == self.base_url:
                        return self.server
                    digest = hashlib.sha256(base.encode()).hexdigest()[:6]
                    name = f"{self.server}-{digest}"
                    self.servers[name] = base
                    if not security.is_same_origin(base, self.base_url):
                        notes.append("It has a server of its own; credentials of the others are not sent there.")
                    return name
        return self.server

    # Drafts ----------------------------------------------------------------------------------------------------------

    def _draft(self, operation: Operation, own: Sequence[str]) -> Draft:
        fields = [*operation.fields, *(operation.body.fields if operation.body else [])]
        properties = list(named(fields))
        input_schema = _input_schema(properties)
        if why := self.inputs.why_unusable(input_schema):
            raise UnusableError(why)
        lost = self.inputs.notes_of(input_schema)
        input_schema, cut = fit(input_schema, self.inputs.defs, INPUT_BYTES, work=self.document.fitting)
        if properties and not input_schema.get("properties"):
            raise UnusableError(f"its parameters alone take more than {INPUT_BYTES:,} bytes to list")
        binding = _binding(operation, properties)
        if fault := next(faults_of_http_binding(binding, {}), None):
            raise UnusableError(f"{fault.where or 'its binding'}: expected {fault.expected}, not {fault.got}")
        output_schema, loosened = self._output(operation.answers.parts)
        said, method, path = operation.said, operation.method, operation.path
        notes = [*operation.notes, *lost, *cut, *loosened]
        if (
            any(error["when"].startswith("HTTP 401") for error in operation.answers.errors)
            and not self.credentials.auth
        ):
            notes.append("The server may want credentials (HTTP 401), and the document does not say which.")
        title, tags = line(said.get("summary"), 150), _tags(said)
        reads = method in _READS
        if reads and (verb := _destroying(said, path)):
            reads = False
            notes.append(f"Asked for by {method.upper()}, and by the word {verb!r} it destroys: it counts as a write.")
        if said.get("deprecated") is True:
            notes.append("The document calls it deprecated.")
        return Draft(
            id=_id_of(method, path),
            words=words_of(method, path),
            better=names_of(own, tags, method, path),
            binding=binding,
            input_schema=input_schema,
            output_schema=output_schema,
            description=_description(operation, title, own),
            kind="openapi",
            where=operation.where,
            title=title or None,
            category="read" if reads else "write",
            risk=_RISKS[method] if reads or method not in _READS else "high",
            idempotency="idempotent" if method in _REPEATABLE and (reads or method not in _READS) else "not_idempotent",
            errors=operation.answers.errors,
            examples=_examples(operation, properties, input_schema, self.inputs.defs, output_schema),
            side_effects=_side_effects(method, path),
            notes=[sanitise(note, 2_000, one_line=True) for note in dict.fromkeys(notes)],
            runs_code=_runs_code(said, path),
            tags=tags,
        )

    def _output(self, parts: list[Json]) -> tuple[dict[str, Json], list[str]]:
        """The schema of an answer; operations that answer alike share the work."""
        key = canonical(parts)
        if key not in self._known:
            self._known[key] = answers.schema_of(
                parts, self.outputs.defs, OUTPUT_BYTES, is_strict=self.is_strict, work=self.document.fitting
            )
        schema, notes = self._known[key]
        return dict(schema), notes


def _destroying(said: Mapping[str, Json], path: str) -> str:
    """The word by which an operation that HTTP calls safe destroys something all the same: `GET /reset`, "Delete all".

    The first verb of its summary, of its id, and of a path that says nothing else counts; empty where none is such.
    """
    named = guess.words_of(line(said.get("operationId"), 150))[:1] or guess.words_of(path)[-1:]
    return next(
        (one for one in (guess.first_verb(line(said.get("summary"), 150)), *named) if one in guess.DESTRUCTIVE), ""
    )


_RISKS: dict[str, Any] = dict.fromkeys(_READS, "low") | {
    "post": "medium",
    "put": "medium",
    "patch": "medium",
    "delete": "high",
}


def _id_of(method: str, path: str) -> str:
    return f"http:{sanitise(method, 20, one_line=True).upper()} {_shown_path(path)}"


def _shown_path(path: str) -> str:
    return sanitise(path, 900, one_line=True)


def _refuse_path(path: str) -> None:
    if not path.startswith("/"):
        raise UnusableError("its path does not begin with a slash")
    if any(mark in path for mark in "?#"):
        raise UnusableError("its path holds a query or a fragment")
    if len(path) > 900 or " " in path or "\\" in path or sanitise(path, 900) != path:
        raise UnusableError("its path holds what no path has")
    if path.startswith("//") or any(part in (".", "..") for part in path.split("/")):
        raise UnusableError("its path leads out of the server's base URL")
    rest = path.replace("{}", "{")
    depth = 0
    for character in rest:
        depth += (character == "{") - (character == "}")
        if depth not in (0, 1):
            break
    if depth != 0 or "{}" in path:
        raise UnusableError("the braces of its path do not match")


def _input_schema(properties: list[tuple[str, Field]]) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "object", "properties": {name: field.schema for name, field in properties}}
    required = [name for name, field in properties if field.is_required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def _binding(operation: Operation, properties: list[tuple[str, Field]]) -> dict[str, Json]:
    binding: dict[str, Json] = {
        "kind": "http",
        "server": operation.server,
        "method": operation.method.upper(),
        "path": operation.path,
    }
    if operation.security is not None:
        binding["security"] = operation.security
    parameters = [
        {"parameter": name, "in": field.place, "name": field.wire, **field.binding}
        for name, field in properties
        if field.place not in ("body", "form")
    ]
    if parameters:
        binding["parameters"] = parameters
    if operation.body:
        binding["body"] = _body_binding(operation.body, properties)
    if operation.answers.accept:
        binding["accept"] = operation.answers.accept
    if operation.answers.parser:
        binding["output"] = {"parser": operation.answers.parser}
    if operation.answers.statuses:
        binding["statuses"] = operation.answers.statuses
    return binding


def _body_binding(body: bodies.Body, properties: list[tuple[str, Field]]) -> dict[str, Json]:
    found: dict[str, Json] = {"media_type": body.media_type}
    if body.is_whole:
        return {**found, "parameter": next(name for name, field in properties if field.place == "body")}
    fields = [
        {"parameter": name, "name": field.wire, **field.binding} for name, field in properties if field.place == "form"
    ]
    return {**found, **({"required": False} if body.needed else {}), "fields": fields}


def _description(operation: Operation, title: str, own: Sequence[str]) -> str:
    said = operation.said
    text = prose(said.get("description"), MAX_DESCRIPTION)
    if title and title.rstrip(".") not in text:
        text = f"{title}\n\n{text}" if text else title
    if said.get("deprecated") is True:
        text = f"Deprecated. {text}".strip()
    text = text or _from_name(said, own) or f"Sends {operation.method.upper()} {operation.path}."
    rest = _of_body(operation.body, text) if operation.body else ""
    return f"{sanitise(text, MAX_DESCRIPTION - len(rest) - 2)}\n\n{rest}" if rest else sanitise(text, MAX_DESCRIPTION)


def _of_body(body: bodies.Body, text: str) -> str:
    """What has to be said of a body whose members are parameters, and which of them one needs that may be left out."""
    said = prose(body.description, MAX_TEXT)
    found = [f"The body: {said}"] if said and said not in text else []
    if body.needed:
        found.append(f"The body, where there is one, needs {', '.join(body.needed[:20])}.")
    return sanitise("\n\n".join(found), MAX_DESCRIPTION - 10)


def _from_name(said: Mapping[str, Json], own: Sequence[str]) -> str:
    """What the operation's own name and its success say, where it has no description."""
    responses = said.get("responses")
    success = responses.get("200", responses.get("201")) if isinstance(responses, dict) else None
    answer = line(success.get("description"), 300) if isinstance(success, dict) else ""
    words = "".join(own[:1]).replace("_", " ").strip().capitalize()
    told = [part.rstrip(".") for part in (words, "" if _SAYS_NOTHING.fullmatch(answer) else answer) if part]
    return ". ".join(told) + "." if told else ""


def _runs_code(said: Mapping[str, Json], path: str) -> str | None:
    """Why an operation runs code that its caller sends, by its own words or the last word of its path."""
    words = [word.lower() for word in path.split("/") if word and "{" not in word]
    texts = (str(said.get("summary") or ""), str(said.get("description") or "")[:2_000].split("\n\n")[0])
    if (words and words[-1] in _CODE_WORDS) or any(map(_CODE.search, texts)):
        return "it runs code or commands that the caller sends"
    return None


def _side_effects(method: str, path: str) -> list[str]:
    effect = {"delete": "Deletes", "put": "Creates or replaces", "patch": "Changes"}.get(method)
    return [f"{effect} {path} on the server."] if effect else []


def _tags(said: Mapping[str, Json]) -> list[str]:
    tags = said.get("tags")
    clean = (
        [sanitise(tag, 60, one_line=True) for tag in tags[:10] if isinstance(tag, str)]
        if isinstance(tags, list)
        else []
    )
    return [tag for tag in dict.fromkeys(clean) if tag]


def _examples(
    operation: Operation,
    properties: list[tuple[str, Field]],
    schema: dict[str, Json],
    defs: Mapping[str, Json],
    output_schema: dict[str, Json],
) -> list[dict[str, Json]]:
    """The calls that the document itself shows: every required input has an example, and together they fit."""
    from pegboard.schema import faults_of_value

    keys = list(dict.fromkeys(key for _, field in properties for key in field.examples))
    answers_said = operation.answers.examples
    found: list[dict[str, Json]] = []
    whole: Json = None
    for key in keys[:6] or ([""] if answers_said else []):
        call = _call(properties, key)
        if call is None or any(item["input"] == call for item in found):
            continue
        whole = whole or {**schema, "$defs": needed(schema, defs)}
        if faults_of_value(whole, call, visits=5_000):
            continue
        example: dict[str, Json] = {"input": call}
        if key not in ("", "default"):
            example["description"] = sanitise(key, 100, one_line=True)
        output = answers.as_data(answers_said.get(key, answers_said.get("")))
        is_known = (key in answers_said or "" in answers_said) and _is_fit(output)
        if is_known and not faults_of_value(output_schema, output, visits=5_000):
            example["output"] = output
        found.append(example)
    return found[:3]


def _call(properties: list[tuple[str, Field]], key: str) -> dict[str, Json] | None:
    """The arguments that the document shows under one name; None where a required one is not among them."""
    call: dict[str, Json] = {}
    for name, field in properties:
        shown_values = field.examples
        value = shown_values.get(key, shown_values.get("", next(iter(shown_values.values()), None)))
        if shown_values and (key in shown_values or field.is_required) and _is_fit(value):
            call[name] = value
        elif field.is_required:
            return None
    return call


def _is_fit(value: Json) -> bool:
    return is_small(value, MAX_EXAMPLE_BYTES) and is_clean_value(value)
