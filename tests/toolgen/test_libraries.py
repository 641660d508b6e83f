"""What the tools of humanize and textdistance answer."""

from __future__ import annotations

from typing import Any


def test_numbers_are_said_in_words(humanize: Any) -> None:
    calls = [
        ("humanize_intcomma", {"value": 1_000_000}),
        ("humanize_naturalsize", {"value": 3_000_000}),
        ("humanize_ordinal", {"value": 103}),
        ("humanize_apnumber", {"value": 4}),
        ("humanize_fractional", {"value": 0.3}),
        ("humanize_metric", {"value": 1500, "unit": "V"}),
        ("humanize_naturaldate", {"value": "2007-06-05"}),
        ("humanize_precisedelta", {"value": 3633}),
    ]
    results = humanize.batch(calls)
    assert [one["data"] and one["data"].get("result") for one in results] == [
        "1,000,000",
        "3.0 MB",
        "103rd",
        "four",
        "3/10",
        "1.50 kV",
        "Jun 05 2007",
        "1 hour and 33 seconds",
    ]


def test_every_public_function_is_a_tool(humanize: Any) -> None:
    tools = {one["binding"]["qualified_name"].rsplit(".", 1)[1] for one in humanize.manifest["tools"]}
    public = {
        "activate", "apnumber", "clamp", "deactivate", "decimal_separator", "fractional", "intcomma", "intword",
        "metric", "natural_list", "naturaldate", "naturalday", "naturaldelta", "naturalsize", "naturaltime",
        "ordinal", "precisedelta", "scientific", "thousands_separator",
    }  # fmt: skip
    assert tools == public


def test_all_algorithms_are_tools(textdistance: Any) -> None:
    results = textdistance.batch(
        [
            ("textdistance_levenshtein", {"s1": "test", "s2": "text"}),
            ("textdistance_hamming", {"sequences": ["test", "text", "tent"]}),
            ("textdistance_jaccard", {"sequences": ["test", "text"]}),
        ]
    )
    assert [one["data"]["result"] for one in results[:2]] == [1, 2], results
    assert 0 < results[2]["data"]["result"] <= 1
    assert len(textdistance.manifest["tools"]) >= 38


def test_what_is_no_argument_is_the_callers_fault(humanize: Any) -> None:
    refused = humanize.call("humanize_naturalsize", {"value": []})
    assert refused["error"]["code"] == "INVALID_INPUT"
