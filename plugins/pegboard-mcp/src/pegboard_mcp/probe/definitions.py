"""What is looked for in what a server offers: names, annotations, schemas, prompts, resources, and what it was called by.

Nothing here asks or opens anything. The values are raw JSON of a third party, of any form.

.. versionadded:: 0.1
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from pegboard import Annotations, Origin, PegboardError, Tool
from pegboard.limits import MESSAGE_LEVELS
from pegboard.marks import marks_of, skeleton
from pegboard_mcp.packages import package_of
from pegboard_mcp.probe.checks import Finding
from pegboard_mcp.probe.texts import look_at_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Offered", "bounded", "changes", "look_at_address", "look_at_command", "look_at_offer", "names_of"]

MAX_OF_CHECK = 100
"""So often a check is named. The bound is each check's own: one that is met everywhere would hide what comes after."""
MAX_MEMBERS = 60
MAX_WORD = 40
"""Values of a list that are not longer are words, which may be read one after the other."""
_IS_SEVERAL_WORDS = re.compile(
    r"(?:[a-z0-9][_-]?(?=[A-Z])|[A-Za-z0-9][_ -](?=[A-Za-z]))(?:.*(?:[a-z0-9][_-]?(?=[A-Z])|[_ -](?=[A-Za-z]))){2}"
)
LARGE_SCHEMA = 32 * 1024
OF_CLIENTS = frozenset((
    "bash", "read", "write", "edit", "glob", "grep", "task", "webfetch", "websearch", "todowrite", "notebookedit",
    "multiedit", "exit_plan_mode", "codebase_search", "run_terminal_cmd", "run_in_terminal", "apply_patch",
    "str_replace_editor", "text_editor", "computer", "read_file", "edit_file", "list_dir", "file_search",
))  # fmt: skip
"""Tools that clients bring themselves. Servers of files have some of these names with good reason: those say so."""
_OF_FILE_SERVERS = frozenset(
    {"read_file", "edit_file", "list_dir", "file_search", "read", "write", "edit", "grep", "glob"}
)
_OWN = frozenset({"read_result", "list_resources", "read_resource", "answer_question"})
_PACKAGES = (
    "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory",
    "@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-sequential-thinking",
    "@modelcontextprotocol/server-github", "@playwright/mcp", "@upstash/context7-mcp", "@notionhq/notion-mcp-server",
    "chrome-devtools-mcp", "figma-developer-mcp", "firecrawl-mcp", "tavily-mcp", "mcp-remote", "postmark-mcp",
    "mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-atlassian", "mcp-server-docker",
)  # fmt: skip
"""Packages that others like to be taken for."""
_CHANGE_WORDS = re.compile(
    r"\b(?:deletes?|removes?|overwrites?|drops?|erases?|wipes?|sends? (?:an? )?(?:e-?mail|message|payment)|uploads?|"
    r"writes? (?:to|a|the)|creates? (?:a|an|new)|transfers? (?:money|funds)|executes? (?:a |any |the )?(?:command|code|script)s?)\b"
)
_CONVERSATION = re.compile(
    r"^tool_?calls?_?(?:history|log)$|^(?:full_?)?(?:conversation|chat|message|dialog(?:ue)?)_?(?:history|log|context|text|content|transcript|so_far)?$|"
    r"^(?:previous|prior|all|recent)_?(?:messages|turns|conversation)$|^transcript$|^user_?(?:prompt|messages|request)_?(?:full|text)?$"
)
_THOUGHTS = re.compile(
    r"^(?:chain_of_thought|system_?(?:prompt|message|instructions?)|reasoning_trace|hidden_reasoning|model_instructions|tools?_list)$"
)
_SECRET = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|api_?key|access_?token|auth_?token|secret(?:_?key)?|private_?key|ssh_?key|credentials?|seed_?phrase)$"
)
_KEY_FILE = re.compile(
    r"(?:content|read|text|data|value|body).{0,20}(?:ssh|id_rsa|rsa_key|passwd|shadow|dot_?env|env_file|aws_cred|kube_?config|bash_history)"
    r"|(?:ssh|id_rsa|dot_?env|kube_?config|aws_cred\w*|etc_passwd)_(?:content|file|data|text)"
)
_ENVIRONMENT = re.compile(
    r"^(?:env|env_?vars?|environment_?var(?:iable)?s|os_?environ|process_?env|all_env\w*|env\w*_dump)$"
)
_SIDE = re.compile(
    r"^(?:side_?notes?|scratchpad|hidden_\w+|internal_?notes?|debug_?(?:info|context)|telemetry\w*|covert\w*|exfil\w*)$"
)
_RUNS = re.compile(
    r"^(?:command|cmd|shell|shell_command|script|code|exec|expression|sql|query_sql|javascript|python_code)$"
)
_ACTS = re.compile(
    r"^(?:(?:ba|z)?sh -c|curl |wget |\$\(|`|/(?:etc|root)/|\.\./|file://)|[;&|]\s*(?:curl|wget|rm|nc|bash|sh)\b|\$\([^)]+\)"
)
_HOME = re.compile(r"^(?:~/|/home/|/Users/|\$HOME|%USERPROFILE%)")
_KEY_PLACES = re.compile(
    r"(?i)/\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials|env)\b|/etc/(?:passwd|shadow)|id_(?:rsa|ed25519)\b|wallet\.dat"
)


@attrs.frozen
class Offered:
    """What one server said of itself and of what it has, as raw JSON.

    Args:
        tools, prompts, resources, templates: the entries of its lists.
        server: its name and version.
        instructions: its text for models.

    .. versionadded:: 0.1
    """

    tools: tuple[Any, ...] = ()
    prompts: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    templates: tuple[Any, ...] = ()
    server: Mapping[str, Any] = attrs.field(factory=dict)
    instructions: str = ""

    def named(self) -> dict[str, Any]:
        """Every entry, by a name for people."""
        found: dict[str, Any] = {}
        for kind, entries, key in (
            ("tool", self.tools, "name"), ("prompt", self.prompts, "name"), ("resource", self.resources, "uri"),
            ("template", self.templates, "uriTemplate"),
        ):  # fmt: skip
            for at, one in enumerate(entries):
                name = one.get(key) if isinstance(one, Mapping) else None
                called = f"{kind} {str(name if isinstance(name, str) else at)[:100]}"
                if called in found:  # of one name, or of one that begins so: each is looked at
                    called = f"{called} ({at + 1})"
                found[called] = one
        return found


def look_at_offer(
    offered: Offered, others: Iterable[Tool] = (), servers: Collection[str] = (), own: Collection[str] = ()
) -> list[Finding]:
    """Everything that is found in what a server offers.

    Args:
        offered: what that is.
        others: the tools of the board, which its own may look like.
        servers: names of the servers that are configured.
        own: names of tools and arguments that the server has besides, in small letters: see `names_of`.

    .. versionadded:: 0.1
    """
    others = list(others)
    names = {*own, *names_of(offered.tools)} - {one.name.casefold() for one in others}
    return bounded(_findings(offered, others, servers, names))


def bounded(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once, and the first so many of each check.

    .. versionadded:: 0.1
    """
    found: dict[Finding, None] = {}
    named = Counter[str]()
    for finding in findings:
        if finding not in found and named[finding.check] < MAX_OF_CHECK:
            named[finding.check] += 1
            found[finding] = None
    return list(found)


def _findings(
    offered: Offered, others: list[Tool], servers: Collection[str], own: Collection[str]
) -> Iterator[Finding]:
    yield from _of_server(offered, servers)
    if offered.instructions:
        yield from look_at_text("its instructions", offered.instructions, own)
    for where, one in offered.named().items():
        for place, text in _texts(one):
            yield from look_at_text(f"{where}, {place}", text, own)
    yield from _of_names(offered, others)
    for tool in offered.tools:
        if isinstance(tool, Mapping):
            yield from _of_tool(tool)
    for resource in (*offered.resources, *offered.templates):
        if isinstance(resource, Mapping):
            yield from _of_resource(resource)


def names_of(tools: Iterable[Any]) -> Iterator[str]:
    """What tools are called, and their arguments, in small letters: a server may say of its own what it likes.

    .. versionadded:: 0.1
    """
    for tool in tools:
        if isinstance(tool, Mapping):
            yield str(tool.get("name")).casefold()
            schema = tool.get("inputSchema")
            yield from (name.casefold() for name, _, _ in _members(schema if isinstance(schema, Mapping) else {}))


def _texts(value: Any, place: str = "", left: int = MESSAGE_LEVELS) -> Iterator[tuple[str, str]]:
    """Every text of a JSON value, names of members too, with its place."""
    if isinstance(value, str):
        yield place or "itself", value
    elif isinstance(value, Mapping) and left:
        if place.endswith("properties") and len(value) > 1:
            yield f"{place}, together", " ".join(map(str, value))
        if isinstance(value.get("title"), str) and isinstance(value.get("description"), str):
            yield f"{place} together".lstrip(), f"{value['title']} {value['description']}"
        for key, item in value.items():
            if isinstance(key, str):
                if len(key) > 40 or _IS_SEVERAL_WORDS.search(key):
                    yield f"{place}, a key", key
                yield from _texts(item, f"{place}.{key[:40]}".lstrip("."), left - 1)
    elif isinstance(value, (list, tuple)) and left:
        if len(value) > 1 and all(isinstance(item, str) and len(item) <= MAX_WORD for item in value):
            yield f"{place}, together", " ".join(value)
        for at, item in enumerate(value):
            yield from _texts(item, f"{place}[{at}]", left - 1)


def _of_server(offered: Offered, servers: Collection[str]) -> Iterator[Finding]:
    name = offered.server.get("name")
    if not isinstance(name, str) or not offered.server.get("version"):
        yield Finding("server-unnamed", "the server")
    for place, text in _texts(dict(offered.server)):
        yield from look_at_text(f"the server, {place}", text)
    if isinstance(name, str):
        alike = [one for one in servers if one != name and _plain(one) == _plain(name)]
        if alike:
            yield Finding("server-look-alike", f"the server {name[:60]!a}", alike[0][:60])
    tools = [one for one in offered.tools if isinstance(one, Mapping)]
    if tools and not any(one.get("annotations") for one in tools):
        yield Finding("no-annotations", "the server")


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, skeleton(name.casefold()))).casefold()


def _of_names(offered: Offered, others: list[Tool]) -> Iterator[Finding]:
    made, seen = list[Tool](), dict[str, str]()
    for one in offered.tools:
        name = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(name, str):
            continue
        where = f"tool {name[:100]}"
        if name in seen.values():
            yield Finding("name-twice", where)
        elif name.casefold() in seen:
            yield Finding("name-case", where, seen[name.casefold()][:100])
        seen.setdefault(name.casefold(), name)
        if not name.isascii():
            yield Finding("name-script", where, ascii(name)[1:101])
        elif not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            yield Finding("name-odd", where)
        if len(name) > 64:
            yield Finding("name-long", where)
        if name.casefold() in OF_CLIENTS - _OF_FILE_SERVERS:
            yield Finding("name-of-client", where)
        if name in _OWN:
            yield Finding("name-reserved", where)
        if (tool := _tool_of(one)) is not None and not any(tool.name == other.name for other in made):
            made.append(tool)
    taken = {tool.name for tool in made}
    for mark in marks_of([*made, *(one for one in others if one.name not in taken)]):
        if mark.tool.origin.source != "probed":
            continue
        where = f"tool {mark.tool.name[:100]}"
        if mark.kind == "look-alike":
            yield Finding("look-alike", where, mark.why)
        elif mark.kind == "title":
            yield Finding("title-of-other", where, mark.why)
        elif mark.kind == "contradiction":
            kinds = {"changes nothing": "reads-but-name", "destroys nothing": "harmless-but-name"}
            check = next((key for words, key in kinds.items() if words in mark.why), "destroys-but-name")
            yield Finding(check, where, mark.why.rpartition("says ")[2])


def _tool_of(one: Mapping[str, Any]) -> Tool | None:
    """A tool to compare others with; None: a board does not take its name."""
    marks = one.get("annotations")
    said = marks if isinstance(marks, Mapping) else {}
    title = one.get("title") or said.get("title")
    try:
        return Tool(
            name=one["name"],
            description="a tool",
            title=title if isinstance(title, str) and title != one["name"] else None,
            input_schema={"type": "object"},
            handler=_never,
            annotations=Annotations(
                read_only=said.get("readOnlyHint") is True,
                destructive=said["destructiveHint"] if isinstance(said.get("destructiveHint"), bool) else None,
            ),
            origin=Origin(source="probed"),
        )
    except (PegboardError, TypeError, ValueError):
        return None


async def _never(**arguments: Any) -> None:
    raise AssertionError("nothing that is looked at is called")


def _of_tool(tool: Mapping[str, Any]) -> Iterator[Finding]:
    where = f"tool {str(tool.get('name'))[:100]}"
    marks = tool.get("annotations")
    said = marks if isinstance(marks, Mapping) else {}
    description = tool.get("description")
    text = description.casefold() if isinstance(description, str) else ""
    if not text.strip():
        yield Finding("no-description", where)
    if said.get("readOnlyHint") is True:
        if said.get("destructiveHint") is True:
            yield Finding("says-both", where)
        first = text.partition(".")[0]
        if (found := _CHANGE_WORDS.search(first)) and not re.search(r"\b(?:not|never|without|instead of)\b", first):
            yield Finding("reads-but-text", where, f"'{found[0]}'")
    schema = tool.get("inputSchema")
    members = list(_members(schema)) if isinstance(schema, Mapping) else []
    if said.get("openWorldHint") is False and any(
        name in ("url", "uri", "endpoint", "webhook") for name, _, _ in members
    ):
        yield Finding("closed-but-address", where)
    if not isinstance(schema, Mapping):
        return
    if not members and schema.get("additionalProperties") not in (False, None):
        yield Finding("schema-open", where)
    if len(members) > MAX_MEMBERS:
        yield Finding("schema-members", where, f"{len(members)} of them")
    if len(json.dumps(schema, default=str)) > LARGE_SCHEMA:
        yield Finding("schema-large", where)
    for reference in _references(tool):
        yield Finding("schema-remote", where, reference[:100])
    for name, one, required in members:
        yield from _of_member(f"{where}, {name[:60]}", name, one, required=required)


def _members(schema: Mapping[str, Any], left: int = MESSAGE_LEVELS) -> Iterator[tuple[str, Any, bool]]:
    """Every member of an object in a schema: its name, its schema, whether it has to be there."""
    properties, required = schema.get("properties"), schema.get("required")
    named = required if isinstance(required, list) else ()
    if isinstance(properties, Mapping):
        for name, one in properties.items():
            if isinstance(name, str):
                yield name, one, name in named
    for name in named:
        if isinstance(name, str) and not (isinstance(properties, Mapping) and name in properties):
            yield name, None, True
    if left:
        for item in schema.values():
            for inner in item.values() if isinstance(item, Mapping) else item if isinstance(item, list) else ():
                if isinstance(inner, Mapping):
                    yield from _members(inner, left - 1)


def _references(value: Any, left: int = MESSAGE_LEVELS) -> Iterator[str]:
    if isinstance(value, Mapping) and left:
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str) and not item.startswith("#"):
                yield item
            yield from _references(item, left - 1)
    elif isinstance(value, list) and left:
        for item in value:
            yield from _references(item, left - 1)


def _of_member(where: str, name: str, schema: Any, *, required: bool) -> Iterator[Finding]:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:120]).casefold().replace("-", "_")
    if _CONVERSATION.search(plain) and plain not in ("chat", "message", "conversation", "dialog", "dialogue"):
        yield Finding("asks-conversation" if required else "may-ask-conversation", where)
    if _THOUGHTS.search(plain):
        yield Finding("asks-thoughts", where)
    if _KEY_FILE.search(plain):
        yield Finding("asks-key-file", where)
    elif _SECRET.search(plain):
        yield Finding("asks-secret" if required else "may-ask-secret", where)
    if _ENVIRONMENT.search(plain):
        yield Finding("asks-environment", where)
    if _SIDE.search(plain):
        yield Finding("side-note", where)
    if _RUNS.search(plain):
        yield Finding("command-argument", where)
    if len(name.split()) > 3:
        yield Finding("schema-key-text", where)
    default = schema.get("default") if isinstance(schema, Mapping) else None
    if isinstance(default, str):
        if _ACTS.search(default):
            yield Finding("default-acts", where, f"'{default[:60]}'")
        elif re.match(r"https?://", default) and plain not in ("url", "base_url", "endpoint", "host"):
            yield Finding("default-address", where, f"'{default[:60]}'")
        elif _HOME.search(default):
            yield Finding("default-home", where, f"'{default[:60]}'")


def _of_resource(resource: Mapping[str, Any]) -> Iterator[Finding]:
    template = resource.get("uriTemplate")
    uri = template if isinstance(template, str) else resource.get("uri")
    if not isinstance(uri, str):
        return
    where = f"{'template' if template else 'resource'} {uri[:100]}"
    try:
        parts = urlsplit(uri)
        scheme, host = parts.scheme, parts.hostname or ""
    except ValueError:
        scheme = host = ""
    if _KEY_PLACES.search(uri):
        yield Finding("resource-keys", where)
    elif scheme == "file" and not template:
        yield Finding("resource-file", where)
    if scheme in ("http", "https") and host and _is_private(host):
        yield Finding("resource-private", where)
    if resource.get("mimeType") in ("text/html", "text/html+skybridge", "text/html;profile=mcp-app") or scheme == "ui":
        yield Finding("resource-page", where)
    if template and re.search(r"^file:///?\{[+*]?\w+\*?\}$|^\{[+]?\w+\}$|\{\+\w+\}|\.\./", uri):
        yield Finding("template-anywhere", where)


def _is_private(host: str) -> bool:
    from pegboard_confine.network import is_private

    return "{" not in host and is_private(host)


# -- where it comes from


def look_at_command(argv: list[str]) -> Iterator[Finding]:
    """What is to be seen in the command that starts a server.

    .. versionadded:: 0.1
    """
    where = shlex.join(argv)[:100]
    program = argv[0].replace("\\", "/").rpartition("/")[2] if argv else ""
    words = [one for one in argv[1:] if not one.startswith("-")]
    if program in ("sh", "bash", "zsh", "cmd", "cmd.exe", "powershell", "pwsh") and len(argv) > 1:
        yield Finding("shell-command", where)
    if program in ("docker", "podman"):
        text = " ".join(argv)
        if re.search(r"--privileged\b|docker\.sock|--pid[= ]host|--net(?:work)?[= ]host|(?:-v|--volume)[= ]/:", text):
            yield Finding("container-open", where)
    if program in ("npx", "bunx", "pnpm", "uvx", "pipx", "uv", "deno"):
        first = next((one for one in words if one not in ("dlx", "run", "tool", "exec", "--")), "")
        package = package_of(argv) or first
        if re.match(r"(?:https?|git|git\+\w+|github):|.*\.(?:tgz|tar\.gz|whl)$", package):
            yield Finding("from-address", where, package[:80])
        elif package and not package.startswith((".", "/")):
            name, version = _split_version(package)
            if version in ("", "latest", "next", "*"):
                yield Finding("unpinned", where, f"{name[:80]}@VERSION keeps what you looked at")
            if near := next((one for one in _PACKAGES if one != name and _is_near(name, one)), None):
                yield Finding("look-alike-package", where, near)


def _split_version(package: str) -> tuple[str, str]:
    """`@scope/name@1.2` and `name==1.2` in two."""
    if "==" in package:
        name, _, version = package.partition("==")
        return name, version
    name, _, version = package[1:].partition("@")
    return package[:1] + name, version


def _is_near(name: str, other: str) -> bool:
    """Whether one letter more, less, other or moved makes the one the other."""
    if abs(len(name) - len(other)) > 1 or len(name) < 6 or name in _PACKAGES:
        return False
    begin = next(
        (at for at, (one, two) in enumerate(zip(name, other, strict=False)) if one != two), min(len(name), len(other))
    )
    rest, others = name[begin:], other[begin:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return rest[1:] == others or rest == others[1:] or rest[1:] == others[1:] or swapped


def look_at_address(url: str) -> Iterator[Finding]:
    """What is to be seen in the address of a server.

    .. versionadded:: 0.1
    """
    try:
        parts = urlsplit(url)
        host, password = parts.hostname or "", parts.password
    except ValueError:
        return
    where = f"{parts.scheme}://{host[:80]}"
    if parts.scheme in ("http", "ws") and not re.match(r"localhost$|127\.|::1$", host):
        yield Finding("plain-http", where)
    if password:
        yield Finding("address-password", where)
    if "xn--" in host:
        yield Finding("order-punycode", where)


# -- what changed


def changes(before: Offered, after: Offered) -> list[str]:
    """What differs between two listings of one server, as a person reads it.

    .. versionadded:: 0.1
    """
    mine, theirs = before.named(), after.named()
    told = [f"{name} came" for name in theirs if name not in mine]
    told += [f"{name} went" for name in mine if name not in theirs]
    for name, one in mine.items():
        if name in theirs and one != theirs[name]:
            told.append(f"{name}: {', '.join(_places(one, theirs[name])) or 'changed'}")
    if before.instructions != after.instructions:
        told.append("its instructions")
    if dict(before.server) != dict(after.server):
        told.append("its own name or version")
    return told


def _places(one: Any, other: Any) -> list[str]:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return []
    return sorted(str(key)[:40] for key in {*one, *other} if one.get(key) != other.get(key))[:10]
