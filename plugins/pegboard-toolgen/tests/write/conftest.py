"""A manifest of all three bindings, as a value; each test gets one of its own."""

from __future__ import annotations

import copy
from typing import Any

import pytest

DIALECT = "https://json-schema.org/draft/2020-12/schema"

CODES = (
    *("INVALID_INPUT", "NOT_FOUND", "CONFLICT", "UNAUTHORIZED", "FORBIDDEN", "TIMEOUT"),
    *("RATE_LIMITED", "UPSTREAM_ERROR", "INTERNAL_ERROR", "OUTCOME_UNKNOWN"),
)

SHOP: dict[str, Any] = {
    "manifest_version": "1.0",
    "schema_dialect": DIALECT,
    "project": {
        "name": "Shop Tools",
        "version": "2.1",
        "type": "mixed",
        "runtime": "python",
        "execution_model": "mixed",
        "entrypoint": "shop",
        "description": "Runs a small shop.\n\nStock, prices and orders.",
    },
    "servers": {
        "api": {
            "base_url": "https://shop.example/v1",
            "base_url_env": "SHOP_URL",
            "auth": [
                {"kind": "bearer", "secret_env": "SHOP_TOKEN", "required": True},
                {"kind": "basic", "secret_env": "SHOP_PASSWORD", "username_env": "SHOP_USER"},
            ],
        }
    },
    "programs": {"shop": {"argv0": ["shop"], "argv0_env": "SHOP_BIN", "environment": ["SHOP_LOCALE"]}},
    "modules": {"prices": {"import": "statistics", "allow": ["statistics.fmean"], "distribution": "prices"}},
    "$defs": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"enum": list(CODES)},
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
            "required": ["code", "message"],
        },
        "item": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
    },
    "tools": [
        {
            "id": "http:POST /orders/{id}/items",
            "name": "orders_items_post",
            "title": "Add an item",
            "description": "Adds an item to an order.",
            "category": "write",
            "risk": "high",
            "idempotency": "not_idempotent",
            "timeout_ms": 5000,
            "input_schema": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "Of the order"},
                    "item": {"$ref": "#/$defs/item"},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["id", "item"],
                "additionalProperties": False,
            },
            "output_schema": {"type": "object", "properties": {"item": {"$ref": "#/$defs/item"}}},
            "errors": [{"code": "NOT_FOUND", "when": "There is no such order."}],
            "error_schema": {"$ref": "#/$defs/error"},
            "examples": [
                {
                    "description": "Two beans",
                    "input": {"id": "7", "item": {"name": "bean", "parts": []}},
                    "output": {"item": {"name": "bean"}},
                }
            ],
            "constraints": {
                "side_effects": ["Changes the order."],
                "rate_limit": "10/minute",
                "notes": ["Prices are net."],
            },
            "binding": {
                "kind": "http",
                "server": "api",
                "method": "POST",
                "path": "/orders/{id}/items",
                "parameters": [
                    {"parameter": "id", "in": "path", "name": "id"},
                    {"parameter": "note", "in": "query", "name": "note"},
                ],
                "body": {"media_type": "application/json", "parameter": "item"},
                "statuses": {"423": "CONFLICT"},
            },
        },
        {
            "id": "python:statistics.fmean",
            "name": "prices_mean",
            "description": "The mean of some prices.",
            "category": "analytics",
            "risk": "low",
            "idempotency": "idempotent",
            "input_schema": {
                "type": "object",
                "properties": {"data": {"type": "array", "items": {"type": "number"}}},
                "required": ["data"],
                "additionalProperties": False,
            },
            "output_schema": {"type": "object", "properties": {"result": {"type": "number"}}, "required": ["result"]},
            "error_schema": {"$ref": "#/$defs/error"},
            "examples": [{"input": {"data": [1, 2]}, "output": {"result": 1.5}, "recorded": True}],
            "binding": {
                "kind": "python",
                "module": "prices",
                "qualified_name": "statistics.fmean",
                "parameters": [{"parameter": "data", "pass": "positional"}],
                "exceptions": [{"type": "LookupError", "code": "NOT_FOUND"}],
            },
        },
        {
            "id": "program:shop list",
            "name": "shop_list",
            "description": "Lists what is in stock. Prices are net.",
            "category": "read",
            "risk": "low",
            "idempotency": "idempotent",
            "input_schema": {
                "type": "object",
                "properties": {
                    "file": {"type": "string"},
                    "sort": {"type": "string", "enum": ["name", "price"], "default": "name"},
                    "limit": {"type": "integer"},
                },
                "required": ["file"],
                "additionalProperties": False,
            },
            "output_schema": {"type": "object", "properties": {"result": {"type": "array"}}},
            "error_schema": {"$ref": "#/$defs/error"},
            "examples": [{"input": {"file": "stock.csv", "limit": 2}}],
            "constraints": {"allowed_paths": ["."]},
            "binding": {
                "kind": "subprocess",
                "program": "shop",
                "arguments": [
                    {"kind": "literal", "value": "list"},
                    {"kind": "option", "parameter": "sort", "flag": "--sort", "style": "equals"},
                    {"kind": "option", "parameter": "limit", "flag": "--limit", "style": "equals"},
                    {"kind": "terminator"},
                    {"kind": "positional", "parameter": "file", "value": {"format": "path", "access": "read"}},
                ],
                "output": {"parser": "csv", "delimiter": ";"},
                "exits": [{"status": 4, "code": "NOT_FOUND"}, {"stderr": "locked", "code": "CONFLICT"}],
            },
        },
    ],
}


@pytest.fixture
def shop() -> dict[str, Any]:
    """A program, a function and an API in one manifest."""
    return copy.deepcopy(SHOP)
