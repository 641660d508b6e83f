"""What doctor says of manifests, without starting, sending or importing anything."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from pegboard_manifest.canonical import fingerprint_of
from pegboard_manifest.checks import findings_of
from pegboard_manifest.document import ManifestError, of_document
from pegboard_manifest.source import ManifestSource


def an_entry(name, binding, **more):
    return {
        "id": name,
        "name": name,
        "description": "Do it.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "examples": [{"input": {}}],
        "binding": binding,
        **more,
    }


def a_document(*entries, **more):
    return {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Checked", "runtime": "python", "execution_model": "mixed"},
        "tools": list(entries),
        **more,
    }


def python(imported, **binding):
    bound = {"kind": "python", "module": "m", "qualified_name": f"{imported}.f", "parameters": [], **binding}
    return an_entry("f", bound)


PROGRAM = an_entry("p", {"kind": "subprocess", "program": "p", "arguments": [], "output": {"parser": "text"}})
REQUEST = an_entry("r", {"kind": "http", "server": "s", "method": "GET", "path": "/"})


def said(document, folder="."):
    """What was found, as (what, severity) by where; the text of all of it."""
    found = list(findings_of(of_document(document, folder), "here"))
    assert all(one.fix for one in found)
    return {(one.what, one.severity) for one in found}, " ".join(f"{one.where} {one.why} {one.fix}" for one in found)


def test_a_manifest_whose_needs_are_met_has_no_findings():
    document = a_document(
        python("pegboard"),
        PROGRAM,
        REQUEST,
        modules={"m": {"import": "pegboard", "distribution": "pegboard"}},
        programs={"p": {"argv0": [sys.executable]}},
        servers={"s": {"base_url": "http://localhost:1"}},
        provenance={"sources": [{"kind": "library", "name": "pegboard", "version": "0.1.0"}]},
    )
    assert said(document) == (set(), "")


def test_a_program_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    document = a_document(PROGRAM, programs={"p": {"argv0": ["no-such-program"], "argv0_env": "MY_PROGRAM"}})
    found, text = said(document, tmp_path)
    assert found == {("a program is not there", "error")}
    assert "set MY_PROGRAM" in text
    monkeypatch.setenv("MY_PROGRAM", sys.executable)
    assert said(document, tmp_path)[0] == set()


def test_what_no_tool_uses_is_not_missed():
    document = a_document(
        programs={"p": {"argv0": ["no-such-program"]}},
        modules={"m": {"import": "no_such_module"}},
        servers={"s": {"base_url": "http://example.com", "auth": [{"kind": "bearer", "secret_env": "NO_SUCH"}]}},
    )
    assert said(document)[0] == set()


@pytest.mark.parametrize(
    ("module", "version", "expected", "text"),
    [
        ({"import": "no_such_module"}, None, ("a module is not installed", "error"), "pip install no_such_module"),
        (
            {"import": "no_such_module", "distribution": "no-such"},
            None,
            ("a module is not installed", "error"),
            "pip install no-such",
        ),
        ({"import": "json", "distribution": "no-such"}, None, ("a module is another one", "warning"), "no-such"),
        (
            {"import": "pegboard", "distribution": "pegboard"},
            "0.0.9",
            ("a module has another version", "warning"),
            "made of pegboard 0.0.9, and 0.1.0",
        ),
    ],
)
def test_a_module_that_is_missing_or_another_is_told(module, version, expected, text):
    sources = [{"kind": "library", "name": "pegboard", "version": version}] if version else []
    document = a_document(python(module["import"]), modules={"m": module}, provenance={"sources": sources})
    found, shown = said(document)
    assert found == {expected}
    assert text in shown


def test_something_that_is_loaded_and_says_nothing_of_itself_is_not_a_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "odd_module", object())
    document = a_document(python("odd_module"), modules={"m": {"import": "odd_module"}})
    assert said(document)[0] == {("a module is not installed", "error")}


def test_worker_processes_need_their_extra(monkeypatch):
    document = a_document(python("json", run="process"), modules={"m": {"import": "json"}})
    there: list[object] = [importlib.util.find_spec("json")]
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there[0] if name == "trio_parallel" else real(name))
    assert said(document)[0] == set()
    there[0] = None
    found, text = said(document)
    assert found == {("worker processes are not there", "error")}
    assert "pegboard[process]" in text


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"base_url": "https://example.com"}, set()),
        ({"base_url": "http://[::1]:80"}, set()),
        ({"base_url": "http://example.com"}, {("a server is reached by http", "warning")}),
    ],
)
def test_requests_that_go_out_unencrypted_are_told(server, expected):
    assert said(a_document(REQUEST, servers={"s": server}))[0] == expected


def test_secrets_that_are_not_set_are_told_and_never_shown(monkeypatch):
    auth = [
        {"kind": "bearer", "secret_env": "CHECKED_TOKEN", "required": True},
        {"kind": "basic", "secret_env": "CHECKED_PASSWORD", "username_env": "CHECKED_USER"},
    ]
    document = a_document(REQUEST, servers={"s": {"base_url": "http://example.com", "auth": auth}})
    monkeypatch.setenv("CHECKED_USER", "somebody")
    found, text = said(document)
    assert found == {
        ("a server is reached by http", "error"),
        ("a secret is not set", "error"),
        ("a secret is not set", "note"),
    }
    assert "CHECKED_USER" not in text
    assert "somebody" not in text


def test_what_was_changed_since_it_was_recorded_is_told():
    document = a_document(*[python("json") | {"name": f"t{n:02}", "id": f"t{n}"} for n in range(12)])
    document["modules"] = {"m": {"import": "json"}}
    for entry in document["tools"]:
        entry["fingerprint"] = fingerprint_of(entry, document)
    assert said(document)[0] == set()
    for entry in document["tools"]:
        entry["description"] = "Do something else."
    document["tools"][0]["timeout_ms"] = 3
    found, text = said(document)
    assert found == {("a manifest was changed by hand", "warning")}
    assert "what a model sees of them is not what was recorded: t00, t01" in text
    assert "and 2 more" in text
    assert "what a call of them does is not what was recorded: t00 " in text


def test_faults_of_a_manifest_are_listed_and_the_rest_counted():
    from pegboard_manifest.checks import check_manifests

    class Board:
        sources = [  # noqa: RUF012 - as a board has them
            (None, object()),
            (None, ManifestSource("manifest:a", "a.json", _error_of(a_document(*[{"id": n} for n in range(3)])))),
            (None, ManifestSource("manifest:b", "b.json", ManifestError("it cannot be read"))),
        ]

    found = list(check_manifests(Board()))
    assert [one.severity for one in found] == ["error"] * 12
    assert "more faults" in found[10].why
    assert (found[11].where, found[11].why) == ("b.json", "it cannot be read")


def _error_of(document):
    with pytest.raises(ManifestError) as caught:
        of_document(document, ".")
    return caught.value


def test_a_reader_that_is_kept_out_of_read_only_mode_is_a_note():
    kept_out = {"constraints": {"read_only_mode_supported": False}}
    found, text = said(a_document(python("pegboard") | kept_out, modules={"m": {"import": "pegboard"}}))
    assert found == {("tools that read count as writes", "note")}
    assert "f" in text
    writes = python("pegboard") | kept_out | {"category": "write"}
    assert said(a_document(writes, modules={"m": {"import": "pegboard"}}))[0] == set()


def test_a_secret_that_is_written_down_is_a_note_without_its_value():
    said_there = {"API_TOKEN": "of-these-tests", "LESSKEY": "x", "PAGER": "a-long-value"}
    program = {"argv0": [sys.executable], "set_environment": said_there}
    found, text = said(a_document(PROGRAM, programs={"p": program}))
    assert found == {("a secret may stand in a manifest", "note")}
    assert "API_TOKEN" in text
    assert not {"of-these-tests", "LESSKEY", "PAGER"} & set(text.split())
