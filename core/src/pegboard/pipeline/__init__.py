"""Compiles a tool into its plan, and a call into its answer.

`plan` compiles what the hooks said about one tool into one closure, `stages` are what it asks around the work,
`execution` runs the handler where it belongs, `classify` is the one place that catches, `normalise` makes a result of
whatever came back.
"""
