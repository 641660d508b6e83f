"""What must not be shown, in descriptions and in faults."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.config import load_config, looks_secret, mask_text, mask_value, setting
from pegboard.errors import ConfigError

SECRET = "hunter2-Zq8xW"


def no_secret(_: Any, field: Any, value: str) -> None:
    if value:
        raise ValueError(f"never {value!r}")


@attrs.frozen
class Settings:
    dsn: str = setting("none", secret=True)
    pin: int = setting(0, secret=True)
    table: dict[str, str] = setting(factory=dict, secret=True)
    checked: str = setting("", validator=no_secret)
    plain: str = setting("")
    names: list[str] = setting(factory=list)
    count: int = setting(1)


@pytest.mark.parametrize(
    "key",
    ["token", "api_key", "apiKey", "GITHUB_TOKEN", "client-secret", "password", "db_passwd", "tokens", "Authorization"],
)
def test_keys_that_name_a_secret(key):
    assert looks_secret(key)


@pytest.mark.parametrize("key", ["monkey", "keyboard", "author", "timeout_s", "url", "tokenizer", "compass"])
def test_keys_that_only_sound_like_it(key):
    assert not looks_secret(key)


@pytest.mark.parametrize(
    "text",
    [
        f"postgres://ada:{SECRET}@host/db",
        f"https://{SECRET}@host",
        f"https://h/?a=1&api_key={SECRET}&b=2",
        f"host=h password={SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"curl -H 'x: bearer {SECRET}'",
        f"--token={SECRET}",
    ],
)
def test_credentials_inside_a_text_are_hidden(text):
    assert SECRET not in mask_text(text)
    assert mask_text(text) != text


def test_well_known_shapes_of_keys_are_hidden():
    assert mask_text("use sk-abcdefghijklmnop now") == "use *** now"


@pytest.mark.parametrize("text", ["https://host/path", "a plain text", "mail ada@example.org", "1.5"])
def test_texts_without_credentials_stay(text):
    assert mask_text(text) == text


def test_values_are_masked_all_the_way_down():
    value = {"args": ["--api-key", SECRET, "x"], "env": {"API_TOKEN": SECRET, "HOME": "h"}, "tokens": {SECRET: "ada"}}
    assert mask_value(value) == {
        "args": ["--api-key", "***", "x"],
        "env": {"API_TOKEN": "***", "HOME": "h"},
        "tokens": "***",
    }
    assert mask_value({"max_tokens": 100, "token": 100, "use_token": True, "key": None, "secrets": {}}) == {
        "max_tokens": 100,
        "token": "***",
        "use_token": True,
        "key": None,
        "secrets": {},
    }


def test_masking_costs_the_length_of_the_text():
    assert "***" in mask_text("://" * 50_000 + "@")
    assert mask_text("key " * 50_000)


def shown(section: dict[str, Any], environ: dict[str, str] | None = None) -> str:
    config = load_config({"plugins": {"x": section}}, environ=environ or {})
    try:
        config.plugin_settings("x", Settings)
    except ConfigError as error:
        return f"{error} {[fault.to_json() for fault in error.faults]}"
    return " ".join(f"{row.key}={row.value}" for row in config.describe())


PLACES = {
    "a field that is marked": {"dsn": SECRET},
    "a table that is marked": {"table": {SECRET: SECRET}},
    "a key that looks so": {"api_key": SECRET},
    "a key further up": {"names": [], "tokens": {SECRET: "ada"}},
    "a variable": {"plain": "${MY_TOKEN}"},
    "a variable in a text": {"plain": "a ${MY_TOKEN} b"},
    "a variable in a list": {"names": ["a", "${MY_TOKEN}"]},
    "a url": {"plain": f"https://u:{SECRET}@h"},
    "twice": {"dsn": SECRET, "plain": f"again {SECRET}"},
    "a wrong type": {"count": "${MY_TOKEN}"},
    "a wrong type beside": {"dsn": SECRET, "count": SECRET},
    "what a validator says": {"dsn": SECRET, "checked": SECRET},
    "a long url of a wrong type": {"count": f"https://user:{'x' * 45}{SECRET}@host"},
    "a wrong key in a secret table": {"table": {SECRET: 1}},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_shown_nowhere(place):
    text = shown(PLACES[place], {"MY_TOKEN": SECRET})
    assert SECRET[:7] not in text


def test_a_number_that_is_secret_is_hidden_even_where_it_is_wrong():
    assert "4711" not in shown({"pin": 4711})
    assert "4711" not in shown({"pin": 4711.5})


def test_a_description_shows_defaults_and_origins():
    config = load_config({"plugins": {"x": {"plain": "p"}}}, environ={"PEGBOARD_TIMEOUT_S": "5"})
    config.plugin_settings("x", Settings)
    rows = {row.key: row for row in config.describe()}
    assert rows["timeout_s"].to_json() == {"key": "timeout_s", "value": 5.0, "origin": "$PEGBOARD_TIMEOUT_S"}
    assert rows["read_only"].to_json() == {"key": "read_only", "value": False, "origin": "default"}
    assert (rows["plugins.x.plain"].value, rows["plugins.x.plain"].origin) == ("p", "the program")
    assert (rows["plugins.x.dsn"].value, rows["plugins.x.names"].value) == ("***", [])


def test_a_tool_or_plugin_whose_name_sounds_secret_is_still_shown():
    config = load_config({"tools": {"token_counter": {"timeout_s": 3}}}, environ={})
    assert [row.value for row in config.describe() if row.key == "tools.token_counter.timeout_s"] == [3]


ALPHABET = st.sampled_from("abcXYZ0123456789@:/?=&. -_$%")


@given(
    st.text(ALPHABET, min_size=8, max_size=30).map(lambda text: f"Qj{text}vK".replace("$", "s")),
    st.sampled_from(sorted(PLACES)),
)
@settings(max_examples=150)
def test_no_secret_value_is_ever_in_masked_output(secret, place):
    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {put(key): put(item) for key, item in value.items()}
        if isinstance(value, list):
            return [put(item) for item in value]
        return value.replace(SECRET, secret) if isinstance(value, str) else value

    if "url" in place:
        secret = secret.replace(" ", "")
    assert secret not in shown(put(PLACES[place]), {"MY_TOKEN": secret})


def test_importing_and_loading_nothing_imports_no_reader():
    import subprocess

    code = (
        "import sys; from pegboard.config import load_config; load_config({}, environ={});"
        "print(sorted({'yaml', 'cattrs', 'tomllib', 'platformdirs', 'trio'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@attrs.frozen
class Environment:
    env: Mapping[str, str] = setting(factory=dict, secret="values")


def test_of_a_table_whose_values_are_secret_the_keys_are_shown():
    config = load_config({"plugins": {"x": {"env": {"REGION": "hush-hush"}}}}, environ={})
    config.plugin_settings("x", Environment)
    assert [(row.key, row.value) for row in config.describe() if row.key.startswith("plugins")] == [
        ("plugins.x.env.REGION", "***")
    ]
    with pytest.raises(ConfigError) as caught:
        load_config({"plugins": {"x": {"env": {"REGION": 7}}}}, environ={}).plugin_settings("x", Environment)
    assert "plugins.x.env.REGION" in str(caught.value)
    assert "7" not in str(caught.value)
