"""Each setting of each plugin has been judged: what may a file say of it that was discovered but not trusted, and that
nobody trusts?

`JUDGED` is closed. A new setting fails here until somebody has thought about it, marked it and written it down.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from pegboard import load_board
from pegboard.config import CoreSettings, Profile, ToolSettings
from pegboard.config._settings import keys_of
from pegboard.schema import hints

ALWAYS = "always"
PREFERENCE = "to replace one"
DOCS = Path(__file__).parent.parent / "docs" / "reference" / "configuration.md"

WORDS = {
    "lower": "to raise it",
    "higher": "to lower it",
    "true": "to switch it off",
    "false": "to switch it on",
    "more": "to take from it",
    "fewer": "to add to it",
    "rate": "to raise it",
}
"""How the reference says when a found file needs trust, by the way in which a setting is stricter."""

CHOICE = "to loosen it"
BY_VALUE = "by its value"
RAISE, LOWER, OFF, ON, TAKE, ADD = (WORDS[order] for order in ("lower", "higher", "true", "false", "more", "fewer"))

JUDGED: Mapping[str, Mapping[str, str]] = {
    "": {
        "timeout_s": RAISE,
        "approval_timeout_s": RAISE,
        "read_only": OFF,
        "user_id": PREFERENCE,  # and never by choosing a profile that has one
        "profile": PREFERENCE,
        "strict": OFF,
        "validator": PREFERENCE,
        "without": ALWAYS,
        "observe": ADD,
        "limit_store": ALWAYS,
        "limit_store_fails": CHOICE,
        "flows": BY_VALUE,
        "secrets": BY_VALUE,
        "max_arguments_bytes": RAISE,
        "max_result_bytes": RAISE,
        "kept_results_bytes": RAISE,
        "kept_results_s": RAISE,
    },
    "tools.NAME": {
        "enabled": BY_VALUE,
        "from_": PREFERENCE,
        "executor": ALWAYS,
        "timeout_s": RAISE,
        "cooldown_s": LOWER,
        "rate_limit": RAISE,
        "concurrency": RAISE,
        "requires_user": BY_VALUE,
        "requires_confirmation": BY_VALUE,
        "max_result_bytes": RAISE,
        "permissions": PREFERENCE,  # structured by the class of the tool, which has marks of its own
    },
    "profiles.NAME": {
        "tools": PREFERENCE,  # the four selectors: never of a profile that somebody else has written
        "tags": PREFERENCE,
        "categories": PREFERENCE,
        "sources": PREFERENCE,
        "without": TAKE,
        "read_only": OFF,
        "user_id": ALWAYS,
        "timeout_s": RAISE,
        "cooldown_s": LOWER,
        "rate_limit": RAISE,
        "concurrency": RAISE,
        "requires_user": OFF,
        "requires_confirmation": BY_VALUE,
        "max_result_bytes": RAISE,
    },
    "plugins.anthropic": {
        "api_key": ALWAYS,
        "base_url": ALWAYS,
        "model": ALWAYS,
        "max_tokens": RAISE,
        "thinking": ALWAYS,
        "strict": OFF,
        "cache": ON,
        "version": ALWAYS,
        "betas": ALWAYS,
    },
    "plugins.audit": {"file": ALWAYS, "arguments": ALWAYS},
    "plugins.audit_db": {
        "enabled": ALWAYS,
        "file": ALWAYS,
        "days": ALWAYS,
        "megabytes": ALWAYS,
        "arguments": ALWAYS,
        "fails": ALWAYS,
    },
    "plugins.cache": {"max_bytes": RAISE, "tools": PREFERENCE},
    "plugins.cache.tools": {"cache_s": PREFERENCE, "vary": TAKE},
    "plugins.chat": {
        "model": ALWAYS,
        "system": ALWAYS,
        "max_tool_calls": RAISE,
        "max_rounds": RAISE,
        "max_tokens": RAISE,
        "max_seconds": RAISE,
        "max_cost": RAISE,
        "prices": ALWAYS,
        "tools_tokens": PREFERENCE,
        "temperature": PREFERENCE,
        "timeout_s": RAISE,
    },
    "plugins.cohere": {
        "api_key": ALWAYS,
        "base_url": ALWAYS,
        "model": ALWAYS,
        "strict": OFF,
        "thinking": ALWAYS,
        "thinking_budget": ALWAYS,
        "images": PREFERENCE,
    },
    "plugins.dice": {"seed": PREFERENCE},
    "plugins.files": {
        "roots": ALWAYS,
        "denied_paths": TAKE,
        "deny_secrets": OFF,
        "max_text_bytes": RAISE,
        "max_read_bytes": RAISE,
        "max_binary_bytes": RAISE,
        "max_write_bytes": RAISE,
        "max_search_bytes": RAISE,
        "max_entries": RAISE,
        "max_scanned": RAISE,
        "ripgrep": ALWAYS,
    },
    "plugins.gemini": {
        "api_key": ALWAYS,
        "base_url": ALWAYS,
        "model": ALWAYS,
        "schema": PREFERENCE,
        "thinking_level": ALWAYS,
        "thinking_budget": ALWAYS,
        "include_thoughts": PREFERENCE,
    },
    "plugins.http": {
        "tokens": ALWAYS,
        "allowed_hosts": ALWAYS,
        "allowed_origins": ALWAYS,
        "max_body_bytes": RAISE,
        "max_calls": RAISE,
        "stop_timeout_s": RAISE,
    },
    "plugins.inspect": {
        "host": ALWAYS,
        "tls_cert": ALWAYS,
        "tls_key": ALWAYS,
        "tokens": ALWAYS,
        "allowed_hosts": ALWAYS,
    },
    "plugins.manifest": {"files": ALWAYS, "trusted": ALWAYS},
    "plugins.mcp": {
        "servers": ALWAYS,
        "config_file": ALWAYS,
        "lock": CHOICE,
        "lock_file": ALWAYS,
        "lock_signers": ALWAYS,
        "tokens": ALWAYS,
        "allowed_hosts": ALWAYS,
        "allowed_origins": ALWAYS,
        "oauth": ALWAYS,
        "max_body_bytes": RAISE,
        "max_sessions": RAISE,
        "session_idle_s": RAISE,
        "remember": PREFERENCE,
        "stop_timeout_s": RAISE,
        "replace_timeout_s": RAISE,
        "task_after_s": PREFERENCE,
        "task_store": PREFERENCE,
        "task_ttl_s": RAISE,
        "state_key": ALWAYS,
        "instance": ALWAYS,
        "instances": ALWAYS,
        "carrier": ALWAYS,
    },
    "plugins.memory": {"url": ALWAYS, "max_memories": RAISE, "semantic": PREFERENCE, "model": ALWAYS},
    "plugins.nats": {
        "servers": ALWAYS,
        "groups": ALWAYS,
        "credentials": ALWAYS,
        "tls_ca": ALWAYS,
        "prefix": ALWAYS,
        "concurrency": RAISE,
        "claims": OFF,
        "alive_s": PREFERENCE,
        "drain_s": PREFERENCE,
    },
    "plugins.openai": {
        "api_key": ALWAYS,
        "base_url": ALWAYS,
        "model": ALWAYS,
        "local_ports": ALWAYS,
        "servers": ALWAYS,
    },
    "plugins.otel": {"content": ALWAYS, "metrics": PREFERENCE},
    "plugins.tasks": {"url": ALWAYS, "ambiguous": PREFERENCE, "wait_s": RAISE},
    "tools.execute_command": {
        "allowed_commands": ADD,
        "denied_commands": TAKE,
        "unjudged_commands": ADD,
        "allowed_paths": ALWAYS,
        "writable_paths": ADD,
        "denied_paths": TAKE,
        "least_level": CHOICE,
        "network": ON,
        "environment": ADD,
        "max_output_bytes": RAISE,
        "max_memory_bytes": RAISE,
        "max_file_bytes": RAISE,
        "max_cpu_s": RAISE,
        "max_processes": RAISE,
    },
    "file tools": {"allowed_paths": ALWAYS, "denied_paths": TAKE},
}
FILE_TOOLS = {"read_file", "write_file", "edit_file", "list_directory", "search_files", "search_text", "file_info"}


def judgement(field: attrs.Attribute[Any]) -> str:
    """How the marks of a setting judge it."""
    order, widens = field.metadata.get("stricter"), field.metadata.get("widens", False)
    if isinstance(order, tuple):
        return CHOICE
    if order is not None:
        return WORDS[order]
    if callable(widens):
        return BY_VALUE
    return ALWAYS if widens else PREFERENCE


def settings_classes(kind: Any) -> Iterator[type]:
    """The settings classes in a type: itself, or what its tables and lists hold."""
    kind = hints.unwrap(kind)[0]
    if isinstance(kind, type) and attrs.has(kind):
        yield kind
    for argument in typing.get_args(kind):
        yield from settings_classes(argument)


def judged(cls: type, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The judgement of each setting of a class, and of those of the classes in its tables that are not judged whole."""
    types = {field.key: field.hint for field in hints.fields_of(cls)}
    yield name, {field.name: judgement(field) for field in keys_of(cls).values()}
    for key, field in keys_of(cls).items():
        if judgement(field) != ALWAYS:
            for inner in settings_classes(types.get(key, Any)):
                yield from judged(inner, f"{name}.{key}")


def all_judged() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for cls, name in ((CoreSettings, ""), (ToolSettings, "tools.NAME"), (Profile, "profiles.NAME")):
        found.update(judged(cls, name))
    board = load_board({"tools": {"execute_command": {"allowed_commands": ["ls"]}}})
    for record in board.plugins.records.values():
        assert record.quarantined is None, record
        if record.settings is not None:
            found.update(judged(type(record.settings), f"plugins.{record.name}"))
    for tool in board.tools.values():
        if tool.permissions is not None:
            found.update(judged(tool.permissions, "file tools" if tool.name in FILE_TOOLS else f"tools.{tool.name}"))
    return found


def test_each_setting_of_each_installed_plugin_has_been_judged() -> None:
    found = all_judged()
    assert {name: found.get(name) for name in JUDGED if name in found} == {
        name: dict(JUDGED[name]) for name in JUDGED if name in found
    }
    assert not found.keys() - JUDGED.keys()
    assert {"", "tools.NAME", "profiles.NAME", "plugins.audit", "plugins.mcp", "plugins.chat"} <= found.keys()


@pytest.mark.parametrize("name", [name for name in JUDGED if name.startswith(("plugins.", "tools.execute"))])
def test_the_reference_says_when_a_found_file_needs_trust(name: str) -> None:
    section = DOCS.read_text(encoding="utf-8").partition(f"`[{name}]`\n")[2]
    section = re.split(r"^#{2,4} ", section, maxsplit=1, flags=re.MULTILINE)[0]
    rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in section.splitlines() if "|" in line]
    said = {cells[0].strip("`"): cells[-1].strip("| ") for cells in rows if cells[0].startswith("`") and len(cells) > 3}
    assert {key: said[key] for key in JUDGED[name]} == dict(JUDGED[name])
