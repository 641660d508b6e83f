"""Keys in results that are written in ways of their own: under a name, in a header, in part of a text in base64; and
two hundred ordinary results, of which none is taken for a key.

Sources: the rules of gitleaks and trufflehog (what they look for, not their expressions); "GitHub MCP exploited"
(Invariant Labs, May 2025) and the leaks of mcp-server-git and Asana's server (2025): what one server reads is sent on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from pegboard import ToolResult, tool
from pegboard.secrets.shapes import find_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.host import Host

VALUE = "x9Kq7LmZ2pRt8VwY"
TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zZaB3d"
ENCODED = base64.b64encode(f"the token is {TOKEN}, keep it".encode()).decode()
WRITTEN = {
    "JSON": json.dumps({"user": "ada", "password": VALUE}),
    "JSON in JSON": json.dumps({"text": json.dumps({"apiKey": VALUE})}),
    "YAML": f"db:\n  user: ada\n  password: {VALUE}\n",
    "an ini file": f"[db]\nclient_secret = {VALUE}\n",
    "a call of a program text": f'connect(host="a", api_key="{VALUE}")',
    "a string of a connection": f"Server=h;User Id=sa;Password={VALUE};Encrypt=yes",
    "an address": f"https://api.example.org/v1?access_token={VALUE}&page=2",
    "a header": f"X-Api-Key: {VALUE}",
    "a header of basic authentication": "Authorization: Basic " + base64.b64encode(f"ada:{VALUE}".encode()).decode(),
    "a cookie": f"Set-Cookie: session={VALUE}; HttpOnly",
    "a cookie that is sent": f"> Cookie: theme=dark; session={VALUE}",
    "cookies that are sent": f"Cookie: id={VALUE[::-1]}; session={VALUE}\nHost: a.example",
    "a cookie of a program text": f'headers = {{"Cookie": "session={VALUE}"}}',
    "a variable beside others": f"PORT=1 DB_PASSWORD={VALUE} node server.js",
    "netrc": f"machine api.example.org login ada password {VALUE}",
}
FORMS = {
    "base64 among words": f"see {ENCODED} there",
    "base64 in an address of data": f"data:text/plain;base64,{ENCODED}",
    "hexadecimal": f"dump: {TOKEN.encode().hex()} end",
    "percent": "x=" + "".join(f"%{ord(one):02X}" for one in TOKEN[:5]) + TOKEN[5:] + "&y=1",
    "escapes of JSON": '{"t": "\\u0067' + TOKEN[1:] + '"}',
    "HTML": TOKEN[:9] + "<wbr>" + TOKEN[9:],
    "entities": f"&#103;{TOKEN[1:]}",
    "a key of a cluster": "client-key-data: "
    + base64.b64encode(("-----BEGIN RSA " + "PRIVATE KEY-----\n" + VALUE * 9).encode()).decode(),
    "base32": f"key={base64.b32encode(TOKEN.encode()).decode()} end",
    "long escapes": "".join(f"\\U{ord(one):08x}" for one in TOKEN),
}


@pytest.fixture
def answering(host_with: Any) -> Callable[..., Any]:
    """`await answering(value)`: what a model reads of a tool that answers that."""

    async def made(value: Any) -> ToolResult:
        @tool
        async def read() -> Any:
            """Read."""
            return value

        host: Host = await host_with()
        host.add(read)
        return await host.session(masks_secrets=True).call("read")

    return made


@pytest.mark.parametrize("how", WRITTEN)
async def test_a_value_that_has_a_name_is_masked(answering: Any, how: str) -> None:
    result = await answering(WRITTEN[how])
    assert VALUE not in json.dumps(result.to_json())
    assert "masked" in result.text


@pytest.mark.parametrize("name", ["password", "dbPassword", "client_secret", "API-KEY", "accessToken", "privateKey"])
async def test_a_member_of_an_object_that_has_such_a_name_is_masked(answering: Any, name: str) -> None:
    result = await answering({"rows": [{name: VALUE, "user": "ada-1-of-many"}]})
    said = json.dumps(result.to_json())
    assert VALUE not in said
    assert "ada-1-of-many" in said


@pytest.mark.parametrize("form", FORMS)
async def test_a_key_in_another_form_is_masked_where_it_is_a_part_of_a_text(answering: Any, form: str) -> None:
    result = await answering(FORMS[form])
    said = json.dumps(result.to_json())
    assert TOKEN[6:] not in said
    assert ENCODED[20:60] not in said
    assert TOKEN.encode().hex() not in said
    assert base64.b32encode(TOKEN.encode()).decode()[:20] not in said
    assert "masked" in said


async def test_what_is_sent_under_such_a_name_is_sent(host_with: Any, source: Any, sources: Any) -> None:
    """Who logs in somewhere sends a password; a result is another thing."""
    received = []

    @tool(open_world=True)
    async def log_in(user: str, password: str) -> str:
        """Log in."""
        received.append(password)
        return "in"

    host = await host_with(sources(source("site", [log_in])))
    assert (await host.session(masks_secrets=True).call("log_in", {"user": "ada", "password": VALUE})).ok
    assert received == [VALUE]


def ordinary() -> list[str]:
    """Results as tools give them: ids, digests, pictures, pages, code, logs."""
    draw = random.Random(17)

    def hexed(size: int) -> str:
        return "".join(draw.choices("0123456789abcdef", k=size))

    def letters(size: int) -> str:
        return "".join(draw.choices(string.ascii_letters + string.digits, k=size))

    made: list[str] = []
    for _ in range(20):
        made += [
            json.dumps({"id": str(uuid.UUID(int=draw.getrandbits(128))), "nextPageToken": letters(40), "total": 17}),
            f"commit {hexed(40)}\nAuthor: Ada <ada@example.org>\nDate: Tue Nov 24 2026\n\n    Mend the token parser\n",
            "data:image/png;base64," + base64.b64encode(draw.randbytes(600)).decode(),
            f"sha256:{hexed(64)}  pegboard-0.1-py3-none-any.whl\nsha512-{letters(86)}==",
            json.dumps({"cursor": base64.b64encode(draw.randbytes(24)).decode(), "continuation_token": letters(32)}),
            f"https://cdn.example.org/assets/{letters(22)}.js?v={hexed(8)}&etag=W/{letters(16)}",
            json.dumps({"traceId": hexed(32), "spanId": hexed(16), "session": letters(10), "key": letters(12)}),
            f"ssh-ed25519 {letters(68)} ada@host\nSHA256:{letters(43)}",
            f"| {letters(5)} | {draw.randint(1, 10**9)} | 2026-11-24T05:10:00Z | path/to/sk_file_{hexed(6)}.py |",
            f"arn:aws:iam::{draw.randint(10**11, 10**12)}:role/reader vpc-{hexed(17)} pat_{letters(4)} re_{letters(4)}",
        ]
    return made


PLAIN = [
    "password: must have 8 characters or more",
    "The secret: patience. The key: practice.",
    'password = getpass.getpass("Password: ")',
    "api_key = os.environ['API_KEY2']",
    "secret_key: ${SECRET_KEY_1}",
    '{"password": "********", "api_key": null, "secret": true}',
    '{"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}}',
    "access_token=<your-token-1>",
    "client_secret: changeme",
    "secret: my-secret-name",
    "password: see the vault",
    "cookie: chocolate, a=b; cookies = 12 of them; Cookie: theme=dark; lang=en",
    "document.cookie = 'consent=yes'; cookie policy: see https://a.example/?page=privacy-and-cookies",
    "tokens: 1200, max_tokens=4096, token_type: Bearer, token: eos",
    "passwordless: true; secretName: db-credentials-2; keyboard: qwerty12",
    "foreign key: user_id references users2(id)",
    "public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI",
]


def test_two_hundred_ordinary_results_hold_no_key() -> None:
    texts = [*ordinary(), *PLAIN]
    assert len(texts) > 200
    found = [(text[:60], text[start:end], kind) for text in texts for start, end, kind in find_shapes(text)]
    assert found == []


@pytest.mark.parametrize("index", range(10))
async def test_ordinary_results_are_answered_as_they_are(answering: Any, index: int) -> None:
    text = ordinary()[index]
    result = await answering(text)
    assert result.text == text
    assert "masked" not in (result.details or {})


def test_a_digest_is_no_key_in_any_form() -> None:
    for text in (hashlib.sha256(b"x").hexdigest(), quote(base64.b64encode(hashlib.sha512(b"x").digest()).decode())):
        assert list(find_shapes(text)) == []
