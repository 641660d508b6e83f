"""What servers that speak OpenAI's language want said differently: a table, chosen by the host of the base URL.

A compatible server gets plain schemas, since few hold a model to a strict one and small models fare better without a
null for every argument that is not given.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

import attrs

_O_MODEL = re.compile(r"(ft:)?o[1-9]")
_SAFE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,40}")


@attrs.frozen
class Flavour:
    """How one kind of server differs.

    Args:
        name: of the kind.
        strict: whether `strict` schemas are sent.
        limit_key: the member of chat completions that bounds the output.
        stream_options: whether usage has to be asked for, and may be.
        refusals: whether an assistant's message may have a member `refusal`.
        reasoning: whether the model's reasoning goes back to the server that gave it (DeepSeek and Kimi refuse a turn
            with calls that lacks it, Groq and OpenAI one that has it).
        lists: whether an assistant's content may be a list with what the model thought (Mistral).
        files: whether a message may hold files beside images and sound.
        encrypted: whether reasoning items come and go as `encrypted_content` alone, and have to be asked for so. What
            another server encrypts unasked goes back to it all the same.
        media_in_results: whether `function_call_output` may hold images and files.
        bridge: whether an assistant has to speak between a result and a user.
        short_ids: whether ids of calls have to be nine letters and digits.
    """

    name: str
    strict: bool = False
    limit_key: str = "max_tokens"
    stream_options: bool = True
    refusals: bool = False
    reasoning: bool = True
    lists: bool = False
    files: bool = False
    encrypted: bool = False
    media_in_results: bool = False
    bridge: bool = False
    short_ids: bool = False

    def may_forbid_parallel(self, model: str) -> bool:
        """Whether a request may say `parallel_tool_calls: false`: OpenAI's o models refuse one that does."""
        return not (self.strict and _O_MODEL.match(model))

    def id_of(self, given: str) -> str:
        """An id of a call as this server takes it: as it is where it fits, else the same one for the same id."""
        fits = len(given) == 9 and given.isascii() and given.isalnum() if self.short_ids else _SAFE_ID.fullmatch(given)
        if fits:
            return given
        digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
        return digest[:9] if self.short_ids else f"call_{digest[:24]}"


OPENAI = Flavour(
    "openai",
    strict=True,
    limit_key="max_completion_tokens",
    refusals=True,
    reasoning=False,
    files=True,
    encrypted=True,
    media_in_results=True,
)
COMPATIBLE = Flavour("compatible")
GROQ = Flavour("groq", reasoning=False)
MISTRAL = Flavour("mistral", stream_options=False, reasoning=False, lists=True, bridge=True, short_ids=True)

_BY_HOST = {
    "api.openai.com": OPENAI,
    ".api.openai.com": OPENAI,
    ".openai.azure.com": OPENAI,
    "api.groq.com": GROQ,
    "api.mistral.ai": MISTRAL,
}


def flavour_of(base_url: str) -> Flavour:
    """The kind of server at an address; one that is not known is merely compatible."""
    host = urlsplit(base_url).hostname or ""
    for end, flavour in _BY_HOST.items():
        if host == end or (end.startswith(".") and host.endswith(end)):
            return flavour
    return COMPATIBLE
