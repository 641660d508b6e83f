"""What the transports put where a server's answer would be, and what a request tells its transport.

They stand below the transports and below who opens one, for both speak of them.
"""

from __future__ import annotations

ANSWER_TOO_LONG = -32010
"""The JSON-RPC code of the error that stands for an answer over `max_message_bytes`; its text names the limit."""

NOT_RUN = -32011
"""The JSON-RPC code of the error that stands for a request that the server did not take: nobody listens, or the session
is lost. It did not run, and may be sent again over a new link."""

ANSWER_UNREADABLE = -32012
"""The JSON-RPC code of the error that stands for an answer which has the id of a request and is not an answer."""

NUMBER_HEADER = "pegboard-number"
"""The header by which the `http` transport is told the number of a request, so that it can be given up; it is not
sent."""
