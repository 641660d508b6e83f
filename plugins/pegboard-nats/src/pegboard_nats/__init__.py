"""The same tools on many machines: workers and hosts that find each other over NATS.

plugin        the hooks; every board imports it, and it imports nothing that costs time
settings      `[plugins.nats]`
protocol      the client's side of NATS without I/O
credentials   nkeys and files of credentials: who a link is, to its server
client        one link to a list of servers, kept up, on trio
mailbox       where answers wait for whoever asked, and why none came
jetstream     streams of a server, by requests that carry JSON
link          the one client of a host
wire          what hosts and workers say to each other
calls         a call, at the host
source        the tools of a group's workers, as a source of the host
executor      a tool that is installed here, at the workers of a group
known         what a group offered the last time, on disk
worker        a board's tools, for other hosts
claims        at most once, and what became of a call
stats         what a worker counts of its calls
status        how all workers do, of their answers
bots          the board for bots on NATS: tools, calls and questions on subjects
limit_store   limits that all hosts count together
accounts      who may do what on a server: hosts, workers, watchers
checks        what doctor says of the servers
commands      `pegboard worker` and `pegboard nats`
"""

from __future__ import annotations
