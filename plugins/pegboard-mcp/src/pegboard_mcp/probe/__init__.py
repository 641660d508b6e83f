"""Looks at one MCP server before anybody configures it: what it offers is read, nothing of it is called.

    start it in a sandbox -> listings, under two names and after a while -> findings -> verdict

`checks` is the table of all that is looked for, `texts` and `definitions` look for it without any I/O, `looking` starts
the server, `observed` is what it did in its sandbox, and `reporting` puts it into words and JSON.
"""
