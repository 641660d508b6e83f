"""Programs as tools: typed data becomes a command line, the program is run without a shell, its output is read.

words, values     arguments -> words, or INVALID_INPUT before anything is started
process           the words -> a process group of its own -> bytes; whatever happens, nothing of it is left
output            bytes -> data
exits             a status and the program's last words -> a `ToolError`
"""
