"""From a tool to its plan, and from a call to its answer.

`plan` compiles what the hooks said about one tool into closures, `execution` says where a handler runs, `classify` is
the one place that catches, `normalise` makes a result of whatever came back.
"""
