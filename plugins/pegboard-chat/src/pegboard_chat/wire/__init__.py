"""What carries requests to providers and their answers back: one HTTP client, server-sent events, keys, errors.

`sse`, `faults` and `keys` think; `transport` talks; `http_model` puts a dialect on it. Importing any of them imports
neither trio nor httpx2: the first transport that is opened does.

Invariants:

- A request that may have been carried out is never sent a second time.
- Whatever a network or a provider does ends in an answer or in a `ModelError`, by the deadline of the request.
- No key stands in the text, the repr, the chain or the log of anything that leaves this package.
"""
