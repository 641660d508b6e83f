"""The same tools on many machines: workers and hosts that find each other over NATS.

plugin        the hooks; every board imports it, and it imports nothing that costs time
settings      `[plugins.nats]`
protocol      the client's side of NATS without I/O
credentials   nkeys and files of credentials: who a link is, to its server
client        one link to a list of servers, kept up, on trio
jetstream     streams of a server, by requests that carry JSON
"""

from __future__ import annotations
