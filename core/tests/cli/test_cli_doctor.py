"""`pegboard doctor`: what it prints, and what it alone knows: a board that does not load, resources that stay shut."""

from __future__ import annotations

import pytest

RESOURCES = """
    import contextlib
    import trio
    from pegboard import hookimpl

    @contextlib.asynccontextmanager
    async def opened():
        {body}
        yield object()

    @hookimpl
    def open_resources():
        return opened()
"""


@pytest.fixture
def well(site):
    site.install(
        "well",
        "from pegboard import hookimpl, tool\n@hookimpl\ndef provide_tools():\n"
        "    @tool\n    def a() -> int:\n        'A.'\n        return 1\n    return [a]\n",
    )
    return site


def test_a_board_that_is_well(run, well):
    answer = run("doctor", plugins=("well",))
    assert (answer.status, answer.out, answer.err) == (0, "nothing is wrong: 1 plugin, 1 tool\n", "")
    assert run("doctor", "--json", plugins=("well",)).json == []


def test_findings_are_printed_with_why_and_fix_and_end_with_1(run, tools):
    answer = run("doctor")
    assert answer.status == 1
    assert "warning: a secret is not set: tool rare" in answer.out
    assert "  why: it asks for TEST_KEY" in answer.out
    assert "  fix: set the environment variable TEST_KEY" in answer.out


def test_json_is_an_array_of_what_scripts_rely_on(run, tools):
    found = run("doctor", "--json").json
    assert [one["severity"] for one in found] == ["warning", "note"]
    assert all(set(one) == {"what", "where", "why", "fix", "severity"} for one in found)


def test_a_configuration_that_is_wrong_is_a_finding_a_fault_and_the_rest_is_looked_at(run, tools, tmp_path):
    (tmp_path / "c.toml").write_text('timout_s = 3\nuser_id = "${NOT_SET_ANYWHERE}"\n')
    found = run("--config", str(tmp_path / "c.toml"), "doctor", "--json").json
    assert [one["what"] for one in found] == ["the configuration is wrong"] * 2 + [
        "a secret is not set",
        "limits are shared",
    ]
    fixes = " ".join(one["fix"] for one in found)
    assert "timeout_s" in fixes
    assert "set NOT_SET_ANYWHERE" in fixes
    assert str(tmp_path / "c.toml") in found[0]["where"]


def test_a_profile_that_is_not_there_is_a_finding(run, well):
    found = run("--profile", "nope", "doctor", "--json", plugins=("well",)).json
    assert found[0]["where"].startswith("profile")


def test_a_plugin_that_keeps_the_board_from_loading_is_a_finding(run, site):
    site.install(
        "guard",
        "from pegboard import hookimpl\n@hookimpl\ndef make_guards(tool): pass\n"
        "@hookimpl\ndef provide_tools():\n    raise ValueError('no')\n",
    )
    found = run("doctor", "--json", plugins=("guard",)).json
    assert found[0]["what"] == "the board cannot be loaded"
    assert "'guard'" in found[0]["why"]


def test_a_missing_reader_of_mcp_files_is_a_finding(run, well, without_mcp):
    found = run("--mcp-config", "x", "doctor", "--json", plugins=("well",)).json
    assert [one["fix"] for one in found] == ["pip install pegboard-mcp"]


def test_a_resource_that_does_not_open_is_a_finding(run, site):
    site.install("db", RESOURCES.format(body="raise OSError('no such database')"))
    found = run("doctor", "--json", plugins=None).json
    assert [(one["what"], one["where"]) for one in found if "database" in one["why"]] == [
        ("resources would not open", "plugin db")
    ]
    named = run("doctor", "--json", plugins=("db",)).json
    assert [one["what"] for one in named] == ["resources would not open"]
    assert named[0]["where"] == "the host"


def test_a_resource_that_never_opens_does_not_hold_doctor(run, site, monkeypatch):
    from pegboard.cli import _doctor

    monkeypatch.setattr(_doctor, "OPEN_S", 0.05)
    site.install("db", RESOURCES.format(body="await trio.sleep_forever()"))
    found = run("doctor", "--json", plugins=("db",)).json
    assert "did not open and close within 0.05 s" in found[0]["why"]


def test_sources_are_not_started_for_it(run, site):
    site.install(
        "flow",
        """
        from pegboard import hookimpl

        class Source:
            name = "flow"
            timeout_s = None

            async def run(self, slot):
                raise AssertionError("started")

        @hookimpl
        def provide_sources():
            return [Source()]
    """,
    )
    assert run("doctor", plugins=("flow",)).status == 0


def test_a_check_that_fails_is_a_finding(run, site):
    site.install(
        "odd", "from pegboard import hookimpl\n@hookimpl\ndef provide_checks():\n    return [lambda board: 1 / 0]\n"
    )
    found = run("doctor", "--json", plugins=("odd",)).json
    assert found[0]["what"] == "a check failed"


HIDING = "a\x1b[2J\u202e\u200b\U000e0041\nerror: the board is on fire"
"""What moves a cursor, turns, hides, and would look like a finding more."""


def test_what_a_check_quotes_of_third_parties_stays_one_harmless_line(run, site):
    site.install(
        "odd",
        "from pegboard import Finding, hookimpl\n@hookimpl\ndef provide_checks():\n"
        f"    return [lambda board: [Finding(*[{HIDING!r}] * 4)]]\n",
    )
    shown = "a\\x1b[2J\\u202e\\u200b\\U000e0041 error: the board is on fire"
    answer = run("doctor", plugins=("odd",))
    assert answer.out == f"error: {shown}: {shown}\n  why: {shown}\n  fix: {shown}\n"
    (found,) = run("doctor", "--json", plugins=("odd",)).json
    assert {found[key] for key in ("what", "where", "why", "fix")} == {shown}


def test_why_a_resource_does_not_open_stays_one_harmless_line(run, site):
    site.install(
        "odd",
        f"from pegboard import hookimpl\n@hookimpl\ndef open_resources():\n    raise ValueError({HIDING!r})\n",
    )
    answer = run("doctor", plugins=("odd",))
    assert "resources would not open" in answer.out
    assert not {"\x1b", "\u202e", "\u200b", "\U000e0041"} & set(answer.out)
    assert "\nerror: the board is on fire" not in answer.out
