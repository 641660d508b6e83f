"""Routes of web frameworks in a project's text, and which of them a document covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_toolgen.routes import Route, find_routes, not_covered


def test_routes_without_a_document_are_named(tmp_path: Path, put_files: Any) -> None:
    put_files(
        tmp_path,
        {
            "app.py": 'app = Flask()\n@app.route("/dogs/<id>")\ndef dogs(): ...\n\n'
            '@router.get("/cats")\nasync def cats(): ...\n',
            "server.js": "app.get('/birds', (req, res) => {})\nrouter.all(`/x`)\nconst y = map.get('key')\n",
            "tests/test_x.py": '@app.get("/no")\n',
        },
    )
    assert [(one.method, one.path, one.where) for one in find_routes(tmp_path)] == [
        ("ANY", "/dogs/<id>", "app.py:2"),
        ("GET", "/cats", "app.py:5"),
        ("GET", "/birds", "server.js:1"),
        ("ANY", "/x", "server.js:2"),
    ]


@pytest.mark.parametrize(
    ("route", "operation", "is_covered"),
    [
        (("GET", "/dogs/<int:id>"), ("GET", "/dogs/{dog}"), True),
        (("GET", "/dogs/:id/"), ("GET", "/dogs/{dog}"), True),
        (("GET", "/dogs"), ("GET", "/v1/dogs"), True),
        (("ANY", "/dogs"), ("POST", "/dogs"), True),
        (("GET", "/"), ("GET", "/"), True),
        (("POST", "/dogs"), ("GET", "/dogs"), False),
        (("GET", "/dogs"), ("GET", "/hotdogs"), False),
        (("GET", "/v1/dogs"), ("GET", "/dogs"), False),
        (("GET", "/"), ("GET", "/dogs"), False),
        (("GET", "/dogs/<id>"), ("GET", "/dogs"), False),
    ],
)
def test_a_route_is_covered_by_an_operation_at_its_place(
    route: tuple[str, str], operation: tuple[str, str], is_covered: bool
) -> None:
    one = Route(method=route[0], path=route[1], where="app.py:1")
    assert not_covered([one], [operation]) == (() if is_covered else (one,))


@pytest.mark.parametrize(
    ("file", "text", "routes"),
    [
        ("urls.py", "urls = [\n  path('dogs/<int:id>/', show),\n  path('api/', include('x.urls')),\n]",
         ["ANY /dogs/<int:id>/"]),
        ("views.py", "path('dogs/', show)\n", []),
        ("app.py", "Route('/dogs', dogs)\napp.router.add_get('/cats', cats)\n", ["ANY /dogs", "GET /cats"]),
        ("main.go", 'mux.HandleFunc("GET /dogs/{id}", f)\nr.POST("/cats", g)\nhttp.Handle("/all", h)\n',
         ["GET /dogs/{id}", "POST /cats", "ANY /all"]),
        ("main.rs", '#[get("/dogs")]\nasync fn f() {}\nlet a = Router::new().route("/cats", get(g));\n',
         ["GET /dogs", "ANY /cats"]),
        ("Dogs.java", '@GetMapping("/dogs")\n@RequestMapping(value = "/cats")\n', ["GET /dogs", "ANY /cats"]),
        ("app.rb", "get '/dogs' do\n", ["GET /dogs"]),
        ("web.php", "Route::post('dogs', [D::class, 'add']);\n", ["POST /dogs"]),
    ],
)  # fmt: skip
def test_routes_of_many_frameworks_are_found(
    file: str, text: str, routes: list[str], tmp_path: Path, put_files: Any
) -> None:
    put_files(tmp_path, {file: text})
    assert [f"{one.method} {one.path}" for one in find_routes(tmp_path)] == routes


@pytest.mark.parametrize("text", ["\n", "@a.", "path(", "app.get(\n", "@GetMapping( ", ".Handle( "])
def test_the_scan_of_routes_takes_no_time_for_a_file_of_nothing(
    text: str, tmp_path: Path, in_time: Any, put_files: Any
) -> None:
    for name in ("urls.py", "a.js", "a.go", "a.rs", "a.java", "a.rb", "a.php"):
        put_files(tmp_path, {name: text * (400_000 // len(text))})
    with in_time():
        assert list(find_routes(tmp_path)) == []


def test_the_scan_of_routes_ends(tmp_path: Path, put_files: Any) -> None:
    put_files(tmp_path, {"app.py": '@app.get("/x")\n' * 1_000})
    assert len(list(find_routes(tmp_path))) == 200


@given(text=st.text("@app.get(\"')/\x1b\u202e\n x", max_size=60))
def test_no_route_steers_a_terminal(text: str, tmp_path_factory: pytest.TempPathFactory, put_files: Any) -> None:
    root = put_files(tmp_path_factory.mktemp("project"), {"app.py": f'@app.get("/{text}")\n'})
    assert all(one.path.isprintable() for one in find_routes(root))
