"""The board as an HTTP API: `GET /openapi.json`, `GET /tools`, `POST /tools/NAME`."""
