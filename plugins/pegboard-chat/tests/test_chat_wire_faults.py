"""A refusal of a provider is one error that says what to do, and never holds a key."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard import ErrorCode
from pegboard_chat import ModelError
from pegboard_chat.wire import faults
from pegboard_chat.wire.faults import Place, clean, delay_of, error_of, may_repeat, read_json

KEY = "sk-proj-Zx81kQ0aVbN3mT7yLwE5RdJ2"


@pytest.mark.parametrize(
    ("status", "code", "reason", "retry"),
    [
        (400, "INVALID_INPUT", "refused", "changed"),
        (401, "UNAUTHORIZED", "wrong_key", "changed"),
        (402, "FORBIDDEN", "limit", "never"),
        (403, "FORBIDDEN", "wrong_key", "never"),
        (404, "NOT_FOUND", "no_model", "changed"),
        (405, "UPSTREAM_ERROR", "refused", "unknown"),
        (407, "UPSTREAM_ERROR", "no_network", "unknown"),
        (408, "TIMEOUT", "timeout", "unknown"),
        (413, "INVALID_INPUT", "refused", "changed"),
        (422, "INVALID_INPUT", "refused", "changed"),
        (429, "RATE_LIMITED", "limit", "same"),
        (500, "UPSTREAM_ERROR", "server", "unknown"),
        (503, "UPSTREAM_ERROR", "server", "same"),
        (504, "TIMEOUT", "timeout", "unknown"),
        (529, "UPSTREAM_ERROR", "server", "same"),
        (301, "UPSTREAM_ERROR", "refused", "unknown"),
    ],
)
def test_each_status_is_one_reason(status: int, code: str, reason: str, retry: str) -> None:
    error = error_of("acme", status, "")
    assert isinstance(error, ModelError)
    assert (error.code.value, error.details["reason"], error.details["retry"]) == (code, reason, retry)
    assert error.details["provider"] == "acme"
    assert error.details["status"] == status
    assert error.message.startswith("acme ")
    assert f"({status})" in error.message


OPENAI_KEY = {"error": {"message": "Incorrect API key provided: sk-ab***yz.", "type": "invalid_request_error",
                        "param": None, "code": "invalid_api_key"}}  # fmt: skip
GEMINI_KEY = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                        "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}  # fmt: skip
QUOTA = {
    "error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}
}


@pytest.mark.parametrize(
    ("status", "body", "code", "reason", "words"),
    [
        (401, OPENAI_KEY, "UNAUTHORIZED", "wrong_key", "Incorrect API key provided"),
        (400, GEMINI_KEY, "UNAUTHORIZED", "wrong_key", "API key not valid"),
        (400, [GEMINI_KEY], "UNAUTHORIZED", "wrong_key", "API key not valid"),
        (400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xx"},
         "UNAUTHORIZED", "wrong_key", "Incorrect API key"),
        (401, {"message": "invalid api token"}, "UNAUTHORIZED", "wrong_key", "invalid api token"),
        (429, QUOTA, "FORBIDDEN", "limit", "add credit"),
        (400, {"error": {"message": "no such model", "code": "model_not_found"}}, "NOT_FOUND", "no_model", "--model"),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-9"}},
         "NOT_FOUND", "no_model", "model: claude-9"),
        (400, {"error": {"message": "prompt is too long", "type": "invalid_request_error"}},
         "INVALID_INPUT", "refused", "prompt is too long"),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}, {"msg": "and this"}]},
         "INVALID_INPUT", "refused", "Field required; and this"),
        (500, {"error": "the model ran out of memory"}, "UPSTREAM_ERROR", "server", "ran out of memory"),
        (None, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
         "UPSTREAM_ERROR", "server", "Overloaded"),
        (None, {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
         "RATE_LIMITED", "limit", "slow down"),
        (None, {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oh no"}}},
         "UPSTREAM_ERROR", "server", "oh no"),
        (None, {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}},
         "UPSTREAM_ERROR", "server", "busy"),
        (None, {"error": {"message": "?"}}, "UPSTREAM_ERROR", "server", "?"),
    ],
)  # fmt: skip
def test_what_providers_really_send_is_understood(
    status: int | None, body: object, code: str, reason: str, words: str
) -> None:
    error = error_of("acme", status, json.dumps(body), key_variable="ACME_KEY")
    assert (error.code.value, error.details["reason"]) == (code, reason)
    assert words in error.message
    assert ("status" in error.details) == (status is not None)


def test_a_wrong_key_names_the_variable_to_set() -> None:
    error = error_of("acme", 401, "", key_variable="ACME_KEY")
    assert error.message == "acme does not accept the key (401); set ACME_KEY to a key that is valid for it"


def test_an_unknown_model_is_named() -> None:
    error = error_of("acme", 404, json.dumps({"error": "model 'x' not found"}), model="x")
    assert error.message == (
        "acme has no such model or address 'x' (404): model 'x' not found; choose another model with"
        " --model acme:MODEL, or check the base_url"
    )


def test_a_provider_may_have_better_advice() -> None:
    error = error_of("acme", 402, "", advice={"no_money": "pay at {provider}, with {key}"}, key_variable="K")
    assert error.message.endswith("; pay at acme, with K")
    assert error_of("acme", 402, "", advice={"limit": "pay"}).message.endswith("; pay")


def test_a_web_page_is_shown_by_its_title() -> None:
    page = "<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head><body>nginx</body></html>"
    assert "(502): 502 Bad Gateway;" in error_of("acme", 502, page).message
    assert "(502): a web page;" in error_of("acme", 502, "<html></html>").message


def test_text_of_a_provider_is_shown_in_one_short_line() -> None:
    error = error_of("acme", 500, json.dumps({"error": {"message": "a\x1b[2J\nb\u202e" + "x" * 10_000}}))
    assert "a bx" in error.message
    assert error.message.isprintable()
    assert len(error.message) < 500


def test_the_model_in_a_message_is_not_a_key_that_somebody_put_there() -> None:
    assert KEY not in error_of("acme", 404, "", model=KEY, secrets=[KEY]).message


SECRETS = st.text(string.ascii_letters + string.digits + "-_.~+/=", min_size=20, max_size=80)
PROSE = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@st.composite
def texts_with_a_key(draw: st.DrawFn) -> tuple[str, str]:
    """A key, and what a provider may send that holds it: in prose, in any JSON, in a page, twice, cut, glued."""
    key = draw(SECRETS)
    piece = draw(st.sampled_from([key, key[:-4], key[4:], key + key, key.upper(), f"Bearer {key}", f"'{key}'"]))
    said = draw(PROSE) + draw(st.sampled_from(["", " ", "\n", "\x00", "="])) + piece + draw(PROSE)
    shape = draw(st.sampled_from(["plain", "message", "error", "detail", "list", "page", "code", "far"]))
    text = {
        "plain": said,
        "message": json.dumps({"error": {"message": said, "code": said, "type": said}}),
        "error": json.dumps({"error": said}),
        "detail": json.dumps({"detail": [{"msg": said}]}),
        "list": json.dumps([{"error": {"message": said, "details": [{"reason": said}]}}]),
        "page": f"<html><title>{said}</title>",
        "code": json.dumps({"type": said, "message": said, "code": 401}),
        "far": " " * (faults.MAX_READ - draw(st.integers(0, 100))) + said,
    }[shape]
    return key, text


@given(texts_with_a_key(), st.sampled_from([None, 200, 301, 400, 401, 402, 404, 429, 500]))
@example(("abcdefghijklmnopqrstu", "abcdefghijklmnopqrstuabcdefghijklmnopqrstu"), 401)
def test_no_text_of_a_provider_brings_a_key_into_an_error(given_: tuple[str, str], status: int | None) -> None:
    """Whatever a provider sends back, the key, and every run of 12 of its characters, is in no part of the error."""
    key, text = given_
    place = Place("acme", "m", key=key, headers={"authorization": f"Bearer {key}"})
    shown = []
    error = place.error(status, text, {"retry-after": key})
    shown += [error.message, repr(error), str(error), json.dumps(error.to_json(), ensure_ascii=False)]
    with pytest.raises(ModelError) as caught:
        read_json("acme", text + "}", secrets=place.hidden)
    shown += [caught.value.message, json.dumps(caught.value.to_json(), ensure_ascii=False)]
    cleaned = place.cleaned(ModelError("UPSTREAM_ERROR", text[:1000], said={"deep": [text[:1000]]}))
    shown += [repr(place), cleaned.message, json.dumps(cleaned.to_json(), ensure_ascii=False)]
    runs = {key[at : at + 12].casefold() for at in range(len(key) - 11)}
    for one in shown:
        assert key not in one
        assert not any(run in one.casefold() for run in runs), one


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "code", "type", "status", "detail", "details", "reason", "response", "msg"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.one_of(JSON.map(json.dumps), st.text(max_size=80)), st.one_of(st.none(), st.integers(100, 599)))
def test_any_answer_is_a_typed_error(text: str, status: int | None) -> None:
    """Any text under any status is a `ModelError` with provider and reason, in one line that can be printed."""
    error = error_of("acme", status, text)
    assert error.details["provider"] == "acme"
    assert error.details["reason"] in {"wrong_key", "no_model", "refused", "limit", "server", "timeout", "no_network"}
    assert error.message.isprintable() or "\xa0" in text or error.message
    assert "\n" not in error.message
    assert len(error.message) < 700


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("34s", 34), ("0.5s", 0.5), ("soon", None), ("-1s", None), ("", None), (5, None), (None, None)],
)
def test_gemini_says_how_long_to_wait_in_the_body(delay: object, seconds: float | None) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, "?", {"retryDelay": delay}]
    body = json.dumps({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}})
    assert delay_of(body, {}) == seconds
    assert delay_of(body, {"retry-after": "2"}) == 2
    error = error_of("gemini", 429, body)
    assert error.details["retry_after_s"] == (seconds or 1)
    assert (f"wait {seconds:g} s and ask again" if seconds else "wait a while") in error.message


@pytest.mark.parametrize(
    ("status", "headers", "body", "repeats"),
    [
        (429, {}, "", True),
        (500, {}, "", True),
        (529, {}, "", True),
        (409, {}, "", True),
        (400, {}, "", False),
        (401, {}, "", False),
        (501, {}, "", False),
        (429, {}, json.dumps(QUOTA), False),
        (429, {"X-Should-Retry": "false"}, "", False),
        (400, {"x-should-retry": "true"}, "", True),
        (500, {"x-should-retry": "perhaps"}, "", True),
    ],
)
def test_what_may_be_sent_again(status: int, headers: dict[str, str], body: str, repeats: bool) -> None:
    assert may_repeat(status, headers, error_of("acme", status, body, headers)) is repeats


@pytest.mark.parametrize("text", ["", "   ", "<html>", "{'a': 1}", "nonsense", '{"a": 1} and more', '{"a": NaN}'])
def test_what_is_not_json_says_so(text: str) -> None:
    with pytest.raises(ModelError, match="not JSON") as caught:
        read_json("acme", text)
    assert caught.value.details["reason"] == "no_json"


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": "b', b"[1, 2", '{"a":'])
def test_half_of_a_json_is_half_an_answer(text: str | bytes) -> None:
    with pytest.raises(ModelError, match="broke off") as caught:
        read_json("acme", text)
    assert caught.value.details["reason"] == "half_answer"


def test_json_that_nests_without_end_is_refused() -> None:
    with pytest.raises(ModelError, match="nested") as caught:
        read_json("acme", "[" * 100_000)
    assert caught.value.details["reason"] == "no_json"


def test_what_a_dialect_says_stays_where_there_is_no_key() -> None:
    error = ModelError(ErrorCode.UPSTREAM_ERROR, "plain", reason="server")
    assert Place("acme").cleaned(error) is error


def test_a_cut_in_long_text_leaves_no_part_of_a_word() -> None:
    assert clean("a" * (faults.MAX_READ + 1)) == ""
    assert clean("well " + " " * faults.MAX_READ + KEY, [KEY]) == "well"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a": "x\ud83d"}', "x\ufffd"),
        (r'{"a": "\ude00x"}', "\ufffdx"),
        (r'{"a": "\ud83d\ude00 \uDE00\uD83D"}', "\U0001f600 \ufffd\ufffd"),
        (r'{"a": "\\ud83d \ud83d\ud83d\ude00"}', "\\ud83d \ufffd\U0001f600"),
        (rb'{"a": "\n\ud83d"}', "\n\ufffd"),
    ],
)
def test_half_a_character_is_replaced_and_a_whole_one_kept(text: str | bytes, value: str) -> None:
    assert read_json("acme", text) == {"a": value}
