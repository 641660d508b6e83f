"""What the types of the providers' own SDKs say of a request body.

`judge` walks a JSON value and a type side by side, and answers every place where the value is not of the type: a member
that is missing, unknown or of another kind. It takes what the four SDKs are written in (TypedDicts, pydantic models,
unions, literals, enums), and is stricter than any of them: none minds a member it does not know.
"""

from __future__ import annotations

import enum
import inspect
import os
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
import typing_extensions

MAX_COMPLAINTS = 10


def judge(value: Any, kind: Any, path: str = "body") -> list[str]:
    """Every complaint; none where the value is of the type."""
    origin = typing.get_origin(kind)
    if kind is Any or kind is object or isinstance(kind, typing.TypeVar):
        return []
    if origin in (typing.Annotated, typing_extensions.Required, typing_extensions.NotRequired):
        return judge(value, typing.get_args(kind)[0], path)
    if origin in (typing.Union, types.UnionType):
        return _judge_union(value, typing.get_args(kind), path)
    if origin is typing.Literal or origin is typing_extensions.Literal:
        allowed = typing.get_args(kind)
        return [] if value in allowed else [f"{path}: {value!r:.60} is not one of {allowed}"]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _judge_mapping(value, typing.get_args(kind), path)
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _judge_list(value, typing.get_args(kind)[0], path)
    if origin in (typing.IO, os.PathLike):
        return [f"{path}: {value!r:.60} is not a file"]
    if inspect.isclass(kind):
        return _judge_class(value, kind, path)
    raise TypeError(f"{path}: a type that nobody thought of: {kind!r}")


def _judge_union(value: Any, kinds: Iterable[Any], path: str) -> list[str]:
    """The complaints of the member that comes nearest: the one that agrees on what tells members apart."""
    found = [(judge(value, kind, path), kind) for kind in kinds]
    if not all(complaints for complaints, _ in found):
        return []
    near = [complaints for complaints, kind in found if _is_meant(value, kind)]
    return min(near or [complaints for complaints, kind in found if kind is not type(None)], key=len)


def _is_meant(value: Any, kind: Any) -> bool:
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if isinstance(value, list):
        origin = typing.get_origin(kind)
        return isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)
    if not isinstance(value, dict) or not _has_members(kind):
        return False
    members = _members(kind)
    marks = [name for name in ("type", "role") if name in value and name in members]
    return bool(marks) and not any(judge(value[name], members[name][0]) for name in marks)


def _judge_mapping(value: Any, kinds: Sequence[Any], path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r:.60} is not an object"]
    return (
        [complaint for key, inner in value.items() for complaint in judge(inner, kinds[1], f"{path}.{key}")]
        if kinds
        else []
    )


def _judge_list(value: Any, kind: Any, path: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{path}: {value!r:.60} is not a list"]
    return [complaint for at, inner in enumerate(value) for complaint in judge(inner, kind, f"{path}[{at}]")]


def _judge_class(value: Any, kind: type, path: str) -> list[str]:
    plain: Mapping[type, tuple[type, ...]] = {
        str: (str,),
        bytes: (str,),  # base64 on the wire
        bool: (bool,),
        int: (int,),
        float: (int, float),
        type(None): (type(None),),
        dict: (dict,),
        list: (list,),
    }
    if kind in plain:
        right = isinstance(value, plain[kind]) and (kind is bool or not isinstance(value, bool))
        return [] if right else [f"{path}: {value!r:.60} is not {kind.__name__}"]
    if issubclass(kind, enum.Enum):
        allowed = [member.value for member in kind]
        return [] if value in allowed else [f"{path}: {value!r:.60} is not one of {allowed}"]
    if not isinstance(value, dict):
        return [f"{path}: {value!r:.60} is not {kind.__name__}"]
    members = _members(kind)
    complaints = [f"{path}: {kind.__name__} has no {name!r}" for name in value if name not in members]
    complaints += [
        f"{path}: {kind.__name__} lacks {name!r}"
        for name, (_, required) in members.items()
        if required and name not in value
    ]
    for name, inner in value.items():
        if name in members:
            complaints += judge(inner, members[name][0], f"{path}.{name}")
    return complaints[:MAX_COMPLAINTS]


def _has_members(kind: Any) -> bool:
    return typing_extensions.is_typeddict(kind) or hasattr(kind, "model_fields")


@cache
def _members(kind: type) -> Mapping[str, tuple[Any, bool]]:
    """By their names on the wire: type, and whether the member must be there."""
    if typing_extensions.is_typeddict(kind):
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
        required = kind.__required_keys__  # type: ignore[attr-defined]
        return {_wire_name(name, hint): (hint, name in required) for name, hint in hints.items()}
    if not _has_members(kind):
        raise TypeError(f"a class that nobody thought of: {kind!r}")
    fields = kind.model_fields  # type: ignore[attr-defined]
    return {field.alias or name: (field.annotation, field.is_required()) for name, field in fields.items()}


def _wire_name(name: str, hint: Any) -> str:
    """A member whose name is a word of Python has another in the SDK: `PropertyInfo(alias=...)`."""
    while typing.get_origin(hint) in (typing_extensions.Required, typing_extensions.NotRequired):
        hint = typing.get_args(hint)[0]
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    return next((note.alias for note in notes if getattr(note, "alias", None)), name)


def _arguments(method: Callable[..., Any], **fixed: Any) -> dict[str, tuple[Any, bool]]:
    """The body as the arguments that an SDK's method takes by name."""
    hints = typing_extensions.get_type_hints(method, include_extras=True)
    parameters = inspect.signature(method).parameters
    found = {
        name: (hints[name], parameter.default is inspect.Parameter.empty)
        for name, parameter in parameters.items()
        if name in hints and name != "request_options"
    }
    return {**found, **fixed}


def _judge_members(body: Mapping[str, Any], members: Mapping[str, tuple[Any, bool]]) -> list[str]:
    complaints = [f"body: nobody knows {name!r}" for name in body if name not in members]
    complaints += [f"body lacks {name!r}" for name, (_, required) in members.items() if required and name not in body]
    for name, inner in body.items():
        if name in members:
            complaints += judge(inner, members[name][0], name)
    return complaints


def chat_completions(body: Mapping[str, Any]) -> list[str]:
    """As openai's types say it."""
    pytest.importorskip("openai", reason="openai is the oracle of these bodies")
    from openai.types.chat import completion_create_params as params

    streams = params.CompletionCreateParamsStreaming
    plain = params.CompletionCreateParamsNonStreaming
    return judge(dict(body), streams if body.get("stream") else plain)


def responses(body: Mapping[str, Any]) -> list[str]:
    """As openai's types say it."""
    pytest.importorskip("openai", reason="openai is the oracle of these bodies")
    from openai.types.responses import response_create_params as params

    streams, plain = params.ResponseCreateParamsStreaming, params.ResponseCreateParamsNonStreaming
    return judge(dict(body), streams if body.get("stream") else plain)


def messages(body: Mapping[str, Any]) -> list[str]:
    """As anthropic's types say it."""
    pytest.importorskip("anthropic", reason="anthropic is the oracle of these bodies")
    from anthropic.types import message_create_params as params

    streams, plain = params.MessageCreateParamsStreaming, params.MessageCreateParamsNonStreaming
    return judge(dict(body), streams if body.get("stream") else plain)


def cohere_chat(body: Mapping[str, Any]) -> list[str]:
    """As cohere's types say it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, at its import
        pytest.importorskip("cohere", reason="cohere is the oracle of these bodies")
        from cohere.v2.raw_client import RawV2Client

    return _judge_members(body, _arguments(RawV2Client.chat, stream=(bool, True)))


def generate_content(body: Mapping[str, Any]) -> list[str]:
    """As google-genai's types say it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, at its import
        pytest.importorskip("google.genai", reason="google-genai is the oracle of these bodies")
        from google.genai import types as genai

    members = {
        "contents": (list[genai.Content], True),
        "systemInstruction": (genai.Content, False),
        "tools": (list[genai.Tool], False),
        "toolConfig": (genai.ToolConfig, False),
        "generationConfig": (genai.GenerationConfig, False),
        "safetySettings": (list[genai.SafetySetting], False),
        "cachedContent": (str, False),
    }
    return _judge_members(body, members)


ORACLES: Sequence[tuple[str, Callable[[Mapping[str, Any]], list[str]]]] = (
    ("/chat/completions", chat_completions),
    ("/responses", responses),
    ("/v1/messages", messages),
    ("/v2/chat", cohere_chat),
    ("generateContent", generate_content),
    ("streamGenerateContent", generate_content),
)
"""By how the path of a request ends, its query left out."""


BEYOND = {
    "ChatCompletionAssistantMessageParam has no 'reasoning_content'": (
        "servers that give what the model thought under this name want it back; OpenAI's own never give it"
    ),
}
"""What is sent though the SDK does not know it, with the reason."""


def judge_request(path: str, body: Mapping[str, Any]) -> list[str]:
    """What the SDK of whoever listens at this path says of a body."""
    for end, oracle in ORACLES:
        if path.partition("?")[0].endswith(end):
            return [said for said in oracle(body) if not any(said.endswith(beyond) for beyond in BEYOND)]
    return [f"nobody listens at {path}"]
