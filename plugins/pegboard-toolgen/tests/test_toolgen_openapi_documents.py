from __future__ import annotations

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover.openapi import discover_openapi, fetch, security
from pegboard_toolgen.drafts import DiscoveryError

SMALL: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1.2"},
    "paths": {"/things": {"get": {"responses": {"200": {"description": "fine"}}}}},
}

YAML = """
openapi: 3.0.3
info: {title: Shop, version: 1.10}
x-common: &common
  description: all of them
paths:
  /things:
    get:
      <<: *common
      deprecated: no
      tags: [on, 2024-01-01]
      responses:
        200: {description: fine}
        default: *common
"""


# Files ---------------------------------------------------------------------------------------------------------------


def test_a_file_of_json_and_a_mapping_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps(SMALL), encoding="utf-8")

    named = discover_openapi(tmp_path / "api.json")
    given_ = discover_openapi(SMALL)

    assert named.drafts == given_.drafts
    assert named.source["sha256"] == given_.source["sha256"]
    assert named.source == {
        "kind": "openapi",
        "name": "Shop",
        "version": "1.2",
        "location": "api.json",
        "sha256": named.source["sha256"],
    }


def test_yaml_is_read_by_the_rules_of_1_2(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(YAML, encoding="utf-8")

    found = discover_openapi(str(tmp_path / "api.yaml"))

    (draft,) = found.drafts
    assert draft.description == "all of them"
    assert draft.tags == ["on", "2024-01-01"]
    assert draft.errors == [{"code": "UPSTREAM_ERROR", "when": "Any other status: all of them"}]
    assert found.version == "1.1"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: -2.5\nc: 1e3\nd: .5\ne: 0x10\nf: 1_000", {"a": 1, "b": -2.5, "c": 1000.0, "d": 0.5, "e": "0x10",
        "f": "1_000"}), ("[~, null, true, False, no, '1', !!str 2, .inf, 1e999]", [None, None, True, False, "no", "1",
        "2", ".inf", "1e999"]), ("200: a\n~: b\ntrue: c", {"200": "a", "~": "b", "true": "c"}),
        ("- &a {x: 1}\n- *a", [{"x": 1}, {"x": 1}]),
        ("a: &k name\n*k : 2", {"a": "name", "name": 2}),
        ("a: {<<: [{x: 1, y: 1}, {x: 2}], y: 3}", {"a": {"x": 1, "y": 3}}),
        ("a: {<<: 3}", {"a": {}}),
        ("'a'", "a"),
        ("", None),
        ("12345678901234567890123456789012345678901234567890", "12345678901234567890123456789012345678901234567890"),
    ],
)  # fmt: skip
def test_yaml_scalars_keys_aliases_and_merges(text: str, value: Any) -> None:
    assert fetch.parse_yaml(text) == value


def bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for last, name in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 10)}]")
    return "\n".join(lines)


def merges(count: int) -> str:
    keys = ", ".join(f"k{i}: 1" for i in range(3_000))
    return f"a: &a {{{keys}}}\n" + "\n".join(f"b{i}: {{<<: *a}}" for i in range(count))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (bomb(), "unfolds into more than is read"),
        (merges(3_000), "unfolds into more than is read"),
        ("[" * 100_000, "nested more than"),
        ("- " * 5_000 + "a", "nested more than"),
        ("a: &a " + "[" * 100 + "x" + "]" * 100 + "\nb: " + "[" * 150 + "*a" + "]" * 150, "unfolds into more"),
        ("a: &a [*a]", "alias that leads to itself"),
        ("a: *b", "alias that leads to itself or to nothing"),
        ("{[1]: 2}", "a key that is not text"),
        ("a: b: c: [", "neither JSON nor YAML at line 1"),
        ("a: \x01", "neither JSON nor YAML"),
    ],
)
def test_yaml_that_breaks_a_bound_is_refused(text: str, why: str) -> None:
    with pytest.raises(DiscoveryError, match=why):
        fetch.parse_yaml(text)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"openapi": "3.0.0"', "not valid JSON"),
        (b"\xff\xfe\xfa", "not valid UTF-8"),
        (b"just words", "not an OpenAPI document"),
        (b"[]", "not an OpenAPI document"),
        (b"", "not an OpenAPI document"),
        (b'{"openapi": ' + b"[" * 300 + b"]" * 300 + b"}", "nested more than"),
    ],
)
def test_a_file_that_is_not_a_document_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "x").write_bytes(data)

    with pytest.raises(DiscoveryError, match=why):
        discover_openapi(tmp_path / "x")


def test_a_file_that_is_not_there_is_said_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match=r"^the document cannot be read: No such file"):
        discover_openapi(tmp_path / "gone.json")
    with pytest.raises(DiscoveryError, match="cannot be read"):
        discover_openapi("\0")


def test_a_server_without_a_scheme_is_told_how_it_is_named() -> None:
    with pytest.raises(DiscoveryError) as caught:
        discover_openapi("localhost:8000/api")
    assert caught.value.hint == "a server is named by its URL: http://localhost:8000/api"


def test_large_documents_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 100)
    (tmp_path / "x").write_bytes(b" " * 200)
    with pytest.raises(DiscoveryError, match="larger than 100 bytes"):
        discover_openapi(tmp_path / "x")
    monkeypatch.setattr(fetch, "MAX_YAML_BYTES", 10)
    with pytest.raises(DiscoveryError, match="larger than 10 characters"):
        fetch.parse_yaml("openapi: 3.0.0")


def test_a_mapping_that_is_not_json_is_refused() -> None:
    with pytest.raises(DiscoveryError, match="is not JSON"):
        discover_openapi({"openapi": "3.1.0", "paths": {1: object()}})


@settings(max_examples=50)
@given(data=st.binary(max_size=60) | st.text(alphabet="{}[]:,&*!<>|-'\"#%@ \nab1~?", max_size=60).map(str.encode))
def test_any_bytes_are_a_value_or_an_error_of_ours(data: bytes) -> None:
    """Whatever a file holds, reading it gives a JSON value or a DiscoveryError."""
    try:
        value = fetch.parse(data)
    except DiscoveryError:
        return
    json.dumps(value, allow_nan=False)


@settings(max_examples=35)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5).filter(lambda key: key !=
        "<<"), inner, max_size=4), max_leaves=12,
    )
)  # fmt: skip
def test_yaml_gives_back_what_was_written_as_yaml(value: Any) -> None:
    """A value without dates and merges, written as YAML by another program, is read as it was."""
    import yaml

    text = yaml.safe_dump(value, allow_unicode=True)

    if json.dumps(value).isprintable() and not _is_old_yaml(value):
        assert fetch.parse_yaml(text) == value


def _is_old_yaml(value: Any) -> bool:
    """Whether another program writes it plain, which is a number or a word in YAML 1.2 and a text in 1.1, or back."""
    texts: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            waiting += item.values()
            texts += item
        elif isinstance(item, list):
            waiting += item
    return any(text.strip("+-.0123456789eE_") == "" or not text.isprintable() or "\ufeff" in text for text in texts)


# Servers -------------------------------------------------------------------------------------------------------------


class Site:
    """A server of ours on loopback: paths to (status, headers, body); says what it was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, dict(self.headers)))
                status, headers, body = site.pages.get(self.path, (404, {}, b"none"))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def has(self, path: str, document: Any = SMALL, status: int = 200, **headers: str) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.pages[path] = (status, headers, body)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def base_of(found: Any) -> Any:
    return found.servers["shop"]["base_url"]


def test_a_document_is_read_from_its_url(site: Site) -> None:
    site.has("/docs/shop.json?v=1", {**SMALL, "servers": [{"url": "../v2/"}]})

    found = discover_openapi(f"{site.url}/docs/shop.json?v=1#top")

    assert base_of(found) == f"{site.url}/v2"
    assert found.source["location"] == f"{site.url}/docs/shop.json"
    ((path, headers),) = site.asked
    assert path == "/docs/shop.json?v=1"
    assert not {"authorization", "cookie"} & {name.lower() for name in headers}


@pytest.mark.parametrize("place", [f"/{place}" for place in (*fetch.PLACES[:4], "spec.json", "v1/__api__")])
def test_the_usual_places_below_a_base_are_tried(site: Site, place: str) -> None:
    site.has("/", b"<html>welcome</html>")
    site.has(place)

    assert base_of(discover_openapi(site.url)) == site.url


def test_below_the_path_comes_before_below_the_origin(site: Site) -> None:
    site.has("/openapi.json", {**SMALL, "info": {"title": "Other"}})
    site.has("/shop/openapi.json")

    assert discover_openapi(f"{site.url}/shop").name == "Shop"


def test_a_page_of_documentation_leads_to_its_document(site: Site) -> None:
    page = b"<!doctype html><script>SwaggerUIBundle({ url: '/inner/shop.json', deepLinking: true })</script>"
    site.has("/docs", page + b"<redoc spec-url='https://evil.example/x.json'>")
    site.has("/inner/shop.json")

    assert discover_openapi(f"{site.url}/docs").name == "Shop"


@pytest.mark.parametrize(
    "page",
    [
        b"<html><link href='/inner/shop.json' type='application/json' rel='service-desc'></html>",
        b"<html><script src='./swagger-initializer.js'></script></html>",
        b"<html><script>SwaggerUIBundle({configUrl: '/config.json'})</script></html>",
        b'{"links": [{"rel": "self", "href": "/"}, {"rel": "service-desc", "href": "/inner/shop.json"}]}',
        b'{"linkset": [{"anchor": "/", "service-desc": [{"href": "/inner/shop.json"}]}]}',
        b'{"links": [3, {"rel": "service-desc", "href": 7}, {"rel": "service-desc", "href": "http://evil.example/x"},'
        b' {"rel": "service-desc", "href": "inner/shop.json"}]}',
    ],
)
def test_an_answer_leads_to_the_document(site: Site, page: bytes) -> None:
    site.has("/", page)
    site.has("/swagger-initializer.js", b'window.ui = SwaggerUIBundle({ url: "/inner/shop.json", layout: "x" })')
    site.has("/config.json", {"url": "/inner/shop.json"})
    site.has("/inner/shop.json")

    assert discover_openapi(site.url).name == "Shop"


def test_a_page_at_a_usual_place_leads_to_its_document(site: Site) -> None:
    site.has("/docs", b"<html><script>ui({ url: '/deep/in/shop.json' })</script></html>")
    site.has("/deep/in/shop.json")

    assert discover_openapi(site.url).name == "Shop"


@pytest.mark.parametrize("status", [200, 404])
def test_the_header_of_an_answer_leads_to_the_document(site: Site, status: int) -> None:
    evil = "<https://evil.example/x>; rel=service-desc"
    link = f'</x>; rel="next", {evil}, </deep/shop.json>; type="a/b"; rel="service-desc"'
    site.has("/", b"hello", status, Link=link)
    site.has("/deep/shop.json")

    assert discover_openapi(site.url).name == "Shop"
    assert len(site.asked) == 2


def test_a_place_that_breaks_is_passed_over(site: Site) -> None:
    site.has("/openapi.json", b"{", **{"Content-Length": "-1"})
    site.has("/swagger.json", b"{", **{"Transfer-Encoding": "nonsense"})
    site.has("/openapi")

    assert discover_openapi(site.url).name == "Shop"


def test_no_more_than_so_many_places_are_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_ASKED", 4)
    for index in range(9):
        site.has(f"/{index or ''}", f'{{"links": [{{"rel": "service-desc", "href": "/{index + 1}"}}]}}'.encode())

    with pytest.raises(DiscoveryError, match="no OpenAPI document"):
        discover_openapi(site.url)
    assert len(site.asked) == 4


def test_redirects_stay_on_the_origin(site: Site) -> None:
    site.has("/a", b"", 302, Location="/b")
    site.has("/b")
    site.has("/out", b"", 302, Location="http://127.0.0.2:1/b")
    site.has("/loop", b"", 302, Location="/loop")

    assert discover_openapi(f"{site.url}/a").source["location"] == f"{site.url}/b"
    with pytest.raises(DiscoveryError, match="another origin"):
        discover_openapi(f"{site.url}/out")
    with pytest.raises(DiscoveryError, match="redirects without an end"):
        discover_openapi(f"{site.url}/loop")
    site.has("/nowhere", b"", 302)
    with pytest.raises(DiscoveryError, match="redirects to nowhere"):
        discover_openapi(f"{site.url}/nowhere")


def test_cookies_of_a_server_are_not_sent_back(site: Site) -> None:
    site.has("/a", b"", 302, Location="/b", **{"Set-Cookie": "a=b"})
    site.has("/b")

    discover_openapi(f"{site.url}/a")

    assert all("Cookie" not in headers for _, headers in site.asked)


def test_packed_answers_are_bounded_unpacked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 1_000)
    site.has("/a", gzip.compress(b" " * 1_000_000), **{"Content-Encoding": "gzip"})

    with pytest.raises(DiscoveryError, match="larger than 1,000 bytes"):
        discover_openapi(f"{site.url}/a")


def test_a_slow_server_is_left(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "DEADLINE_S", -1.0)
    site.has("/a")

    with pytest.raises(DiscoveryError, match="took more than"):
        discover_openapi(f"{site.url}/a")


def test_a_server_without_a_document_says_so(site: Site) -> None:
    site.has("/a", b"{}")

    with pytest.raises(
        DiscoveryError, match="no OpenAPI document was found there: the answer is not an OpenAPI document"
    ) as caught:
        discover_openapi(f"{site.url}/a")
    assert caught.value.hint == "name the URL of the document itself"
    with pytest.raises(DiscoveryError, match="the server answered 404"):
        discover_openapi(f"{site.url}/b")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://user:secret@127.0.0.1/x", "credentials"),
        ("http://[::1/x", "not a URL"),
        ("http:///x", "not a URL"),
        ("http://127.0.0.1:99999/x", "not a URL"),
        ("http://a b/x", "not a URL"),
        ("http://127.0.0.1:1/x", "did not answer: 127.0.0.1:1 refuses the connection"),
    ],
)
def test_a_url_that_cannot_be_asked_is_refused_without_its_secrets(url: str, why: str) -> None:
    with pytest.raises(DiscoveryError, match=why) as caught:
        discover_openapi(url)
    assert "secret" not in str(caught.value)


# Which server calls go to --------------------------------------------------------------------------------------------


def test_a_copy_on_this_machine_is_called_and_not_its_original(site: Site) -> None:
    site.has("/spec.json", {**SMALL, "servers": [{"url": "https://shop.example/api"}]})

    found = discover_openapi(f"{site.url}/spec.json")

    assert base_of(found) == f"{site.url}/api"
    assert [item.id for item in found.left_out] == ["server"]
    assert "shop.example" in found.left_out[0].why


@pytest.mark.parametrize(
    ("said", "base"),
    [
        ({"servers": [{"url": "https://shop.example/"}]}, "https://shop.example"),
        ({"servers": [{"url": "ftp://x"}, {"url": "https://u:p@x"}, {"url": "https://b.example"}]},
        "https://b.example"), (
            {"servers": [{"url": "https://{where}.example:{port}/{v}", "variables": {
                "where": {"default": "eu"}, "port": {"enum": ["8443"]}, "v": {"default": 2}}}]},
            "https://eu.example:8443/2",
        ),
        ({"servers": [{"url": "https://{where}.example"}]}, "http://127.0.0.1"),
        ({"servers": [{"url": "/v1"}, 3, {"url": None}, {"url": "https://x.example/a b"}]}, "http://127.0.0.1/v1"),
        ({}, "http://127.0.0.1"),
        ({"swagger": "2.0", "host": "a.example", "basePath": "/v1/"}, "https://a.example/v1"),
        ({"swagger": "2.0", "host": "a.example", "schemes": ["http", "ws"]}, "http://a.example"),
        ({"swagger": "2.0", "host": "a.example", "schemes": ["http", "https"]}, "https://a.example"),
        ({"swagger": "2.0", "basePath": "v1"}, "http://127.0.0.1"),
    ],
)  # fmt: skip
def test_the_first_usable_server_is_called(said: Any, base: str) -> None:
    document = {key: value for key, value in SMALL.items() if key != "openapi" or "swagger" not in said}

    found = discover_openapi({**document, **said})

    assert base_of(found) == base
    assert bool(found.left_out) == base.startswith("http://127.0.0.1")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://localhost",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "http://[fe80::1]",
        "http://0.0.0.0",
    ],
)
def test_a_document_from_elsewhere_names_no_server_of_this_machine(url: str) -> None:
    assert security.usable(url, "https://shop.example/openapi.json") is None
    assert security.usable(url, None) == url.rstrip("/")


def test_what_the_caller_names_wins() -> None:
    document = {**SMALL, "servers": [{"url": "https://shop.example"}]}

    assert base_of(discover_openapi(document, base_url="http://127.0.0.1:8000/v1/")) == "http://127.0.0.1:8000/v1"
    with pytest.raises(DiscoveryError, match="base_url"):
        discover_openapi(document, base_url="127.0.0.1:8000")


def test_a_server_takes_its_variable_from_the_title() -> None:
    assert discover_openapi(SMALL).servers["shop"]["base_url_env"] == "SHOP_BASE_URL"
    odd = discover_openapi({**SMALL, "info": {"title": "3 Bob's «Ünïcode» OpenAPI"}})
    assert list(odd.servers) == ["3-bob-s-n-code-openapi"]
    assert next(iter(odd.servers.values()))["base_url_env"] == "API_3_BOBS_N_CODE_OPENAPI_BASE_URL"
    bare = discover_openapi({**SMALL, "info": None})
    assert (bare.name, list(bare.servers)) == ("API", ["api"])


@pytest.mark.parametrize(("said", "name"), [("Dogs API.", "Dogs API"), ("...", "API"), (5, "API")])
def test_a_title_is_no_sentence(said: Any, name: str) -> None:
    assert discover_openapi({"openapi": "3.0.0", "info": {"title": said}, "paths": {"/a": {"get": {}}}}).name == name


def test_the_path_of_a_server_without_a_host_is_kept() -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Mail"},
        "servers": [{"url": "/v2"}],
        "paths": {"/a": {"get": {}}},
    }
    found = discover_openapi(document)
    assert found.servers["mail"]["base_url"] == "http://127.0.0.1/v2"
    assert any("with the path '/v2'" in item.why for item in found.left_out)
