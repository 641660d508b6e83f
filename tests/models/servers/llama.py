"""Serve a gguf model on loopback with llama.cpp's own HTTP server, as small as it goes: one slot, one thread.

    python llama.py MODEL.gguf PORT TEMPLATE.jinja

It runs until it is killed.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import xllamacpp

CONTEXT = 4096
MOST = 24
"""Tokens of an answer whose request names no limit."""


def main(model: str, port: str, template: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.n_ctx, params.n_parallel, params.n_predict = CONTEXT, 1, MOST
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    # What was asked before would decide over an answer by the last digits of what is kept of it.
    params.cache_prompt, params.cache_ram_mib = False, 0
    params.use_jinja = True
    params.chat_template = Path(template).read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    while server:
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
