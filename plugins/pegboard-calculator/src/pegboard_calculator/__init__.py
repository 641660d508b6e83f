"""A calculator for Pegboard: exact where numbers are exact, bounded whatever it is asked, without `eval`.

The way of a text: `_tokens` cuts it, `_parser` lays it out as steps in postfix order, `_evaluate` runs them with
`_numbers` and `_functions`, `_show` writes the value down. Nothing in these files does I/O; `plugin` registers
the tool.
"""
