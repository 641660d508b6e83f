"""Recordings that nobody has: what providers document and send, in every form in which recorders write it."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import yaml

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
PARIS = json.dumps({"city": "Paris"})
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [FUNCTION]}
RESPONSES = {
    "model": "m",
    "input": "hi",
    "tools": [{"type": "web_search"}, {"type": "function", **FUNCTION["function"]}],
}
MESSAGES = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "weather", "input_schema": WEATHER}, {"type": "web_search_20250305", "name": "web_search"}],
}
CONTENTS = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "tools": [
        {"google_search": {}},
        {
            "functionDeclarations": [
                {"name": "weather", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}
            ]
        },
    ],
}


def sse(*events: Any, end: str = "", named: bool = False) -> bytes:
    lines = []
    for one in events:
        if isinstance(one, str):
            lines.append(f"{one}\n\n")
            continue
        name = f"event: {one['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(one)}\n\n")
    return ("".join(lines) + end).encode()


def chunk(delta: Any = None, reason: str | None = None, **more: Any) -> Any:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}],
        **more,
    }


def chat(message: Any, reason: str = "stop", **more: Any) -> bytes:
    first = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason, "logprobs": None}
    return json.dumps({"object": "chat.completion", "choices": [first], **more}).encode()


def output(*items: Any, **more: Any) -> bytes:
    return json.dumps({"object": "response", "status": "completed", "output": list(items), **more}).encode()


def blocks(*content: Any, stop: str = "end_turn") -> bytes:
    return json.dumps({"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}).encode()


def candidates(*parts: Any, reason: str = "STOP", **more: Any) -> bytes:
    one = {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, "index": 0, **more}
    return json.dumps(
        {"candidates": [one], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}
    ).encode()


CALL = {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": PARIS}}
SPOKEN = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [
        {
            "type": "output_text",
            "text": "so",
            "annotations": [{"type": "url_citation", "url": "https://a.example"}],
            "logprobs": [],
        }
    ],
}
ASKED = {"type": "function_call", "id": "fc_1", "call_id": "call_0", "name": "weather", "arguments": PARIS}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vj"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}}
CITED_TEXT = {"type": "text", "text": "so", "citations": [{"type": "web_search_result_location", "cited_text": "so"}]}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "title": "t", "url": "https://a.example", "encrypted_content": "c2Vj"}],
}
GEMINI_CALL = {"functionCall": {"name": "weather", "args": {"city": "Paris"}}, "thoughtSignature": "c2ln"}

OPENAI_URL = "https://api.openai.com/v1/chat/completions"
RESPONSES_URL = "https://api.openai.com/v1/responses"
CLAUDE_URL = "https://api.anthropic.com/v1/messages"
COHERE_URL = "https://api.cohere.com/v2/chat"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"
GEMINI_LIVE = GEMINI_URL.replace("generateContent", "streamGenerateContent") + "?alt=sse"

OTHERS: dict[str, tuple[str, Any, bytes, int]] = {
    # chat completions, of many servers
    "azure": (
        "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        {**CHAT, "stream": True},
        sse(
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            chunk({"role": "assistant"}),
            chunk({"content": "so", "refusal": None}),
            chunk(None, "stop"),
            end="data: [DONE]\n\n",
        ),
        200,
    ),
    "openrouter": (
        "https://openrouter.ai/api/v1/chat/completions",
        {**CHAT, "stream": True},
        sse(
            ": OPENROUTER PROCESSING",
            chunk({"content": "", "reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
            chunk({"content": "so"}),
            chunk({"content": ""}, "stop", native_finish_reason="STOP"),
            {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.1}},
            end="data: [DONE]\n\n",
        ),
        200,
    ),
    "deepseek": (
        "https://api.deepseek.com/chat/completions",
        CHAT,
        chat({"content": "", "reasoning_content": "hm", "tool_calls": [{"index": 0, **CALL}]}, "tool_calls"),
        200,
    ),
    "mistral": (
        "https://api.mistral.ai/v1/chat/completions",
        CHAT,
        chat(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "so"},
                ],
                "tool_calls": None,
            }
        ),
        200,
    ),
    "mistral references": (
        "https://api.mistral.ai/v1/chat/completions",
        CHAT,
        chat(
            {
                "content": [
                    {"type": "text", "text": "so"},
                    {"type": "reference", "reference_ids": [1]},
                    {"type": "text", "text": " it is"},
                ]
            }
        ),
        200,
    ),
    "groq stream": (
        "https://api.groq.com/openai/v1/chat/completions",
        {**CHAT, "stream": True},
        sse(
            chunk({"role": "assistant", "tool_calls": [{"index": 0, **CALL}]}, x_groq={"id": "req"}),
            chunk(None, "tool_calls", x_groq={"usage": {"prompt_tokens": 1}}),
            end="data: [DONE]\n\n",
        ),
        200,
    ),
    "groq refuses": (
        "https://api.groq.com/openai/v1/chat/completions",
        CHAT,
        json.dumps(
            {
                "error": {
                    "message": "Failed to call a function.",
                    "code": "tool_use_failed",
                    "failed_generation": "<function=x>",
                }
            }
        ).encode(),
        400,
    ),
    "ollama": (
        "http://localhost:11434/v1/chat/completions",
        {**CHAT, "stream": True},
        sse(
            chunk({"role": "assistant", "content": "", "tool_calls": [{"id": "call_a", "index": 0, **CALL}]}),
            chunk({"content": ""}, "tool_calls"),
            end="data: [DONE]\n\n",
        ),
        200,
    ),
    "perplexity": (
        "https://api.perplexity.ai/chat/completions",
        {**CHAT, "stream": True},
        sse(
            {
                "citations": ["https://a.example"],
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": None,
                        "message": {"role": "assistant", "content": "so"},
                        "delta": {"role": "assistant", "content": "so"},
                    }
                ],
            },
            {
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"content": "so"}, "delta": {"content": ""}}
                ]
            },
        ),
        200,
    ),
    "two choices": (
        OPENAI_URL,
        CHAT,
        json.dumps(
            {
                "choices": [
                    {"index": 0, "message": {"content": "so"}, "finish_reason": "stop"},
                    {"index": 1, "message": {"content": "else"}, "finish_reason": "stop"},
                ]
            }
        ).encode(),
        200,
    ),
    "audio": (OPENAI_URL, CHAT, chat({"content": None, "audio": {"id": "a", "data": "AAAA", "transcript": "so"}}), 200),
    "annotations": (
        OPENAI_URL,
        CHAT,
        chat({"content": "so", "refusal": None, "annotations": [{"type": "url_citation"}]}),
        200,
    ),
    "refusal": (OPENAI_URL, CHAT, chat({"content": None, "refusal": "no"}), 200),
    "length": (OPENAI_URL, CHAT, chat({"content": "so"}, "length", service_tier="default"), 200),
    "old function": (OPENAI_URL, CHAT, chat({"content": None, "tool_calls": None, "function_call": None}), 200),
    "filtered": (OPENAI_URL, CHAT, chat({"content": ""}, "content_filter"), 200),
    "wrong key": (
        OPENAI_URL,
        CHAT,
        b'{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}',
        401,
    ),
    "too often": (
        OPENAI_URL,
        CHAT,
        b'{"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}}',
        429,
    ),
    "gateway": (OPENAI_URL, CHAT, b"<html><head><title>502 Bad Gateway</title></head></html>", 502),
    "cut": (OPENAI_URL, {**CHAT, "stream": True}, sse(chunk({"content": "so"})), 200),
    "error in a stream": (
        OPENAI_URL,
        {**CHAT, "stream": True},
        sse(chunk({"content": "so"}), {"error": {"message": "x", "code": 500}}),
        200,
    ),
    # responses
    "searched": (
        RESPONSES_URL,
        RESPONSES,
        output(
            THOUGHT,
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "x"},
            },
            SPOKEN,
        ),
        200,
    ),
    "computed": (
        RESPONSES_URL,
        RESPONSES,
        output(
            {
                "type": "code_interpreter_call",
                "id": "ci_1",
                "code": "1",
                "container_id": "c",
                "outputs": [{"type": "logs", "logs": "1"}],
                "status": "completed",
            },
            {"type": "image_generation_call", "id": "ig_1", "result": "AAAA", "status": "completed"},
            SPOKEN,
        ),
        200,
    ),
    "other tools": (
        RESPONSES_URL,
        RESPONSES,
        output(
            {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
            {"type": "mcp_call", "id": "mcp_1", "name": "x", "arguments": "{}", "server_label": "s", "output": "1"},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c", "name": "x", "input": "free"},
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "c2", "action": {"type": "exec", "command": ["ls"]}},
            SPOKEN,
        ),
        200,
    ),
    "asked": (
        RESPONSES_URL,
        RESPONSES,
        output(THOUGHT, SPOKEN, ASKED, {**ASKED, "id": "fc_2", "call_id": "call_1"}),
        200,
    ),
    "refused": (RESPONSES_URL, RESPONSES, output({**SPOKEN, "content": [{"type": "refusal", "refusal": "no"}]}), 200),
    "incomplete": (
        RESPONSES_URL,
        RESPONSES,
        output(SPOKEN, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        200,
    ),
    "failed": (RESPONSES_URL, RESPONSES, output(status="failed", error={"code": "server_error", "message": "x"}), 200),
    "streamed": (
        RESPONSES_URL,
        {**RESPONSES, "stream": True},
        sse(
            {"type": "response.created", "response": {"status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**ASKED, "arguments": ""}},
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 0,
                "item_id": "fc_1",
                "delta": PARIS[:5],
            },
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 0,
                "item_id": "fc_1",
                "delta": PARIS[5:],
            },
            {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": PARIS},
            {"type": "response.output_item.done", "output_index": 0, "item": ASKED},
            {"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}},
            {"type": "response.completed", "response": {"status": "completed", "output": [ASKED]}},
            named=True,
        ),
        200,
    ),
    "another server's": (
        "https://openrouter.ai/api/v1/responses",
        RESPONSES,
        output(
            {**THOUGHT, "summary": None, "status": "completed", "format": "x"}, {**ASKED, "id": None, "status": None}
        ),
        200,
    ),
    # messages
    "claude searched": (
        CLAUDE_URL,
        MESSAGES,
        blocks(SEARCH, FOUND, CITED_TEXT, {"type": "text", "text": " "}, CITED_TEXT),
        200,
    ),
    "claude thought": (
        CLAUDE_URL,
        MESSAGES,
        blocks(
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "c2Vj"},
            USE,
            {**USE, "id": "toolu_2"},
            stop="tool_use",
        ),
        200,
    ),
    "claude ran": (
        CLAUDE_URL,
        MESSAGES,
        blocks(
            {"type": "server_tool_use", "id": "srvtoolu_2", "name": "code_execution", "input": {"code": "1"}},
            {
                "type": "code_execution_tool_result",
                "tool_use_id": "srvtoolu_2",
                "content": {
                    "type": "code_execution_result",
                    "stdout": "1",
                    "stderr": "",
                    "return_code": 0,
                    "content": [],
                },
            },
            {"type": "text", "text": "so"},
        ),
        200,
    ),
    "claude connected": (  # a beta of the API, whose types the SDK keeps apart
        "https://models.example/v1/messages",
        MESSAGES,
        blocks(
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []},
            {"type": "text", "text": "so"},
        ),
        200,
    ),
    "claude paused": (CLAUDE_URL, MESSAGES, blocks(SEARCH, FOUND, stop="pause_turn"), 200),
    "claude refused": (CLAUDE_URL, MESSAGES, blocks(stop="refusal"), 200),
    "claude streamed": (
        CLAUDE_URL,
        {**MESSAGES, "stream": True},
        sse(
            {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}},
            {"type": "ping"},
            {"type": "content_block_start", "index": 0, "content_block": {**SEARCH, "input": {}}},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"query": "x"}'},
            },
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": FOUND},
            {"type": "content_block_stop", "index": 1},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "citations_delta", "citation": {"type": "char_location"}},
            },
            {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "so"}},
            {"type": "content_block_stop", "index": 2},
            {"type": "content_block_start", "index": 3, "content_block": {**USE, "input": {}}},
            {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}},
            {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": PARIS}},
            {"type": "content_block_stop", "index": 3},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "container": None},
                "usage": {"output_tokens": 9},
            },
            {"type": "message_stop"},
            named=True,
        ),
        200,
    ),
    "claude overloaded": (
        CLAUDE_URL,
        {**MESSAGES, "stream": True},
        sse(
            {"type": "message_start", "message": {}},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            named=True,
        ),
        200,
    ),
    "claude refuses": (
        CLAUDE_URL,
        MESSAGES,
        b'{"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}',
        400,
    ),
    "claude elsewhere": (
        "https://models.example/anthropic/v1/messages?beta=true",
        MESSAGES,
        blocks(USE, stop="tool_use"),
        200,
    ),
    # cohere
    "cohere": (
        COHERE_URL,
        CHAT,
        json.dumps(
            {
                "id": "1",
                "finish_reason": "TOOL_CALL",
                "message": {"role": "assistant", "tool_plan": "I will look.", "tool_calls": [CALL]},
                "usage": {"tokens": {"input_tokens": 1.0}},
            }
        ).encode(),
        200,
    ),
    "cohere cited": (
        COHERE_URL,
        CHAT,
        json.dumps(
            {
                "finish_reason": "COMPLETE",
                "message": {
                    "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}],
                    "citations": [{"start": 0, "end": 2, "sources": []}],
                },
            }
        ).encode(),
        200,
    ),
    "cohere streamed": (
        COHERE_URL,
        {**CHAT, "stream": True},
        sse(
            {
                "type": "message-start",
                "delta": {
                    "message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
                },
            },
            {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will"}}},
            {
                "type": "tool-call-start",
                "index": 0,
                "delta": {"message": {"tool_calls": {**CALL, "function": {"name": "weather", "arguments": ""}}}},
            },
            {
                "type": "tool-call-delta",
                "index": 0,
                "delta": {"message": {"tool_calls": {"function": {"arguments": PARIS}}}},
            },
            {"type": "tool-call-end", "index": 0},
            {"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"start": 0}}}},
            {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {}}},
            named=True,
        ),
        200,
    ),
    "cohere refuses": (COHERE_URL, CHAT, b'{"message": "invalid request: x"}', 422),
    # gemini
    "gemini": (
        GEMINI_URL,
        CONTENTS,
        candidates(
            {"text": "hm", "thought": True},
            GEMINI_CALL,
            {"functionCall": {"name": "weather", "args": {"city": "Paris"}, "id": "f1"}},
        ),
        200,
    ),
    "gemini computed": (
        GEMINI_URL,
        CONTENTS,
        candidates(
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"text": "so"},
            groundingMetadata={"webSearchQueries": []},
        ),
        200,
    ),
    "gemini drew": (
        GEMINI_URL,
        CONTENTS,
        candidates({"text": "so"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        200,
    ),
    "gemini blocked": (GEMINI_URL, CONTENTS, b'{"promptFeedback": {"blockReason": "SAFETY"}}', 200),
    "gemini unsafe": (GEMINI_URL, CONTENTS, b'{"candidates": [{"finishReason": "SAFETY", "safetyRatings": []}]}', 200),
    "gemini malformed": (
        GEMINI_URL,
        CONTENTS,
        candidates(reason="MALFORMED_FUNCTION_CALL", finishMessage="print(weather())"),
        200,
    ),
    "gemini streamed": (
        GEMINI_LIVE,
        CONTENTS,
        b"\r\n\r\n".join(
            b"data: " + one
            for one in (
                candidates({"text": "hm", "thought": True}, reason=""),
                candidates({"text": "so"}, reason=""),
                candidates(GEMINI_CALL, reason=""),
                candidates({"text": "", "thoughtSignature": "c2ln"}),
            )
        )
        + b"\r\n\r\n",
        200,
    ),
    "gemini in a list": (
        GEMINI_LIVE.partition("?")[0],
        CONTENTS,
        b"[" + candidates({"text": "so"}, reason="") + b",\n" + candidates({"text": " it is"}) + b"]",
        200,
    ),
    "vertex": (
        "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:generateContent",
        CONTENTS,
        candidates({"text": "so"}, avgLogprobs=-0.1),
        200,
    ),
    "gemini refuses": (
        GEMINI_URL,
        CONTENTS,
        b'{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}',
        400,
    ),
    "gemini is busy": (
        GEMINI_URL,
        CONTENTS,
        b'{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}',
        503,
    ),
}
"""What providers document and send: where to, the request's body, the answer, its status."""

STRANGE: dict[str, Any] = {
    "POST https://api.openai.com/v1/embeddings": {"model": "m", "input": "hi"},
    "GET https://api.openai.com/v1/models": None,
    "POST https://api.openai.com/v1/threads/t/messages": {"role": "user"},
    "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/x/converse": {"messages": []},
    "POST https://api.cohere.com/v1/chat": {"message": "hi"},
    "POST https://generativelanguage.googleapis.com/v1beta/models/x:countTokens": {"contents": []},
}


def _interaction(url: str, body: Any, answer: bytes, status: int, way: str, method: str = "POST") -> Any:
    """An interaction in one of the ways that recorders write it."""
    kind = "text/event-stream" if answer.lstrip().startswith((b"data:", b"event:", b":")) else "application/json"
    headers: dict[str, Any] = {"Content-Type": [f"{kind}; charset=utf-8"]}
    said: Any = answer.decode()
    if way == "gzip":
        said, headers["Content-Encoding"] = gzip.compress(answer), ["gzip"]
    elif way == "unpacked":
        headers["content-encoding"] = "gzip"
    elif way == "bytes":
        said = answer
    response: Any = {"status": {"code": status, "message": "x"}, "headers": headers, "body": {"string": said}}
    if way == "base64":
        response["body"] = {"base64_string": base64.b64encode(answer).decode()}
    elif way == "parsed" and kind == "application/json" and answer.startswith((b"{", b"[")):
        del response["body"]
        response["parsed_body"] = json.loads(answer)
    request: Any = {"method": method, "uri": url, "headers": {}, "body": body if body is None else json.dumps(body)}
    if way == "parsed":
        request = {**request, "body": None, "parsed_body": body}
    return {"request": request, "response": response}


def record(folder: Path, way: str) -> None:
    """A folder of recordings: one tape for each answer, one with all of them, and some that are not valid."""
    suffix = "json" if way == "base64" else "yaml"

    def write(name: str, *interactions: Any) -> None:
        whole = {"interactions": interactions and list(interactions), "version": 1}
        text = json.dumps(whole) if suffix == "json" else yaml.safe_dump(whole)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")

    tried = {name: _interaction(*one, way) for name, one in OTHERS.items()}
    for name, one in tried.items():
        write(name.replace(" ", "_"), one)
    strange = [
        _interaction(place.partition(" ")[2], body, b"{}", 200, way, place.partition(" ")[0])
        for place, body in STRANGE.items()
    ]
    write("all", *tried.values(), *strange)
    write("strange", *strange)
    write("empty")
    (folder / "none.yaml").write_text("- no tape", encoding="utf-8")
    (folder / "broken.yml").write_text("interactions: [", encoding="utf-8")
