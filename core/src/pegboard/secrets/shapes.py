"""How keys of well-known services look.

Each service that gives its keys a prefix does so to have them found (GitHub's "secret scanning partner program"); the
shapes are those that the services document, as the scanners gitleaks and trufflehog look for them too. A shape has to
be a key's alone: `token: ...` in a text about tokens is none.

.. versionadded:: 0.1
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SHAPES", "Shape", "find_shapes", "is_distinct", "replace_shapes"]

MIN_SECRET = 8
"""A shorter text is no key that could be looked for: it would be found everywhere."""
MIN_WORD = 16
"""A text of letters alone that is shorter is taken for a word."""
_VALUE = r"[^\s'\"#;,]"


class Shape(NamedTuple):
    """A kind of key.

    Args:
        kind: what a person calls it.
        marks: one of them stands in every such key; looked for first, since that is quick.
        pattern: the key, or its group `key` where it only counts beside something else.

    .. versionadded:: 0.1
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str


SHAPES = (
    Shape("private key", ("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
          r"(?:(?!-----BEGIN)[\s\S]){0,20000}?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"),
    Shape("age key", ("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
    Shape("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Shape("AWS secret key", ("aws_secret", "AWS_SECRET", "awsSecret", "AWS secret ", "aws secret ", "Secret access "),
          r"(?i)aws.{0,20}secret.{0,20}?[=:]\s*['\"]?(?P<key>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    Shape("Anthropic key", ("sk-ant-",), r"\bsk-ant-[\w-]{20,200}"),
    Shape("OpenAI key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9_-]{20,200}"),
    Shape("Atlassian token", ("ATATT3", "ATCTT3"), r"\bAT[AC]TT3[\w=-]{40,300}"),
    Shape("Azure storage key", ("AccountKey=",), r"\bAccountKey=(?P<key>[A-Za-z0-9+/]{40,100}={0,2})"),
    Shape("Databricks token", ("dapi",), r"\bdapi[a-f0-9]{32}\b"),
    Shape("DigitalOcean token", ("_v1_",), r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Shape("Discord token", (".",), r"\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}\b"),
    Shape("Docker token", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,60}"),
    Shape("Doppler token", ("dp.",), r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,80}"),
    Shape("Fly.io token", ("FlyV1 ", "fo1_"), r"\b(?:FlyV1 fm\d_[\w+/=,-]{40,800}|fo1_[\w-]{43})"),
    Shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
          r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    Shape("GitLab token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
          r"\bgl(?:pat|dt|rt|cbt|ptt|soat)-[\w.-]{20,120}"),
    Shape("Google key", ("AIza",), r"\bAIza[\w-]{35}(?![\w-])"),
    Shape("Google access token", ("ya29.", "GOCSPX-"), r"\b(?:ya29\.[\w-]{20,2000}|GOCSPX-[\w-]{20,60})"),
    Shape("Grafana token", ("glsa_", "glc_"),
          r"\b(?:glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2})"),
    Shape("Groq key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{40,80}"),
    Shape("HashiCorp Vault token", ("hvs.", "hvb."), r"\bhv[sb]\.[\w-]{24,300}"),
    Shape("Heroku token", ("HRKU-",), r"\bHRKU-[\w-]{30,100}"),
    Shape("Hugging Face token", ("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{30,60}"),
    Shape("JSON Web Token", ("eyJ",), r"\beyJ[\w-]{8,4000}\.eyJ[\w-]{8,8000}\.[\w-]{16,2000}"),
    Shape("Linear key", ("lin_",), r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,80}"),
    Shape("Mailgun key", ("key-",), r"\bkey-[0-9a-f]{32}\b"),
    Shape("Mailchimp key", ("-us",), r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    Shape("New Relic key", ("NRAK-", "NRJS-"), r"\bNR(?:AK|JS)-[A-Za-z0-9]{19,40}"),
    Shape("Notion token", ("ntn_", "secret_"), r"\b(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}\b)"),
    Shape("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    Shape("Perplexity key", ("pplx-",), r"\bpplx-[A-Za-z0-9]{40,64}"),
    Shape("Postman key", ("PMAK-",), r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    Shape("PyPI token", ("pypi-",), r"\bpypi-AgE[\w-]{50,300}"),
    Shape("Replicate token", ("r8_",), r"\br8_[A-Za-z0-9]{37}\b"),
    Shape("RubyGems key", ("rubygems_",), r"\brubygems_[a-f0-9]{48}\b"),
    Shape("SendGrid key", ("SG.",), r"\bSG\.[\w-]{22}\.[\w-]{43}"),
    Shape("Sentry token", ("sntrys_", "sntryu_"), r"\bsntry[su]_[\w+/=-]{40,400}"),
    Shape("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    Shape("Slack token", ("xoxa-", "xoxb-", "xoxe", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
          r"\b(?:xox[aboprs]-|xoxe[.-]|xapp-\d-)[\w.-]{10,250}"),
    Shape("Slack webhook", ("hooks.slack.com",),
          r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<key>[\w/+-]{20,200})"),
    Shape("Square token", ("sq0",), r"\bsq0(?:atp|csp)-[\w-]{22,43}(?![\w-])"),
    Shape("Stripe key", ("_live_", "_test_", "whsec_"),
          r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9]{32,64})"),
    Shape("Supabase token", ("sbp_", "sb_secret_"), r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,60})"),
    Shape("Tailscale key", ("tskey-",), r"\btskey-[a-z]+-[\w-]{20,80}"),
    Shape("Telegram token", (":AA",), r"\b\d{8,10}:AA[\w-]{33}(?![\w-])"),
    Shape("Terraform token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,80}"),
    Shape("Twilio key", ("SK",), r"\bSK[0-9a-f]{32}\b"),
    Shape("xAI key", ("xai-",), r"\bxai-[A-Za-z0-9]{60,100}"),
    Shape("password in an address", ("://",),
          r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s/?#:@'\"<>]{0,200}:(?P<key>[^\s/?#'\"<>$*{}]{3,200})@(?=[^\s/@])"),
    Shape("bearer token", ("earer ", "EARER "),
          r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?bearer\s+(?P<key>[\w.~+/-]{16,4000}=*)"),
)  # fmt: skip
"""All of them but a variable of an `.env` file.

.. versionadded:: 0.1
"""

_MARKS = [(mark, shape, " " not in mark) for shape in SHAPES for mark in shape.marks]
"""Each mark, whose it is, and whether it stands within a word."""
_ASSIGNED = (
    r"(?m)^[ \t]*(?:export[ \t]+)?[A-Z][A-Z0-9_]{0,60}?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)"
    rf"[A-Z0-9_]{{0,20}}[ \t]*=[ \t]*(?P<quote>['\"]?)(?P<key>{_VALUE}{{8,4000}})(?P=quote)[ \t]*(?:#.*)?$"
)
"""A variable of an `.env` file whose name says that it is a secret."""
_ASSIGNED_MARKS = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL")


def find_shapes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where keys stand in a text: from, to, and of which kind; they may overlap.

    .. versionadded:: 0.1
    """
    if len(text) < MIN_SECRET:
        return
    words = long_words(text)
    for shape in dict.fromkeys(shape for mark, shape, where in _MARKS if mark in (words if where else text)):
        for match in _compiled(shape.pattern).finditer(text):
            group = "key" if match.re.groupindex else 0
            yield *match.span(group), shape.kind
    if "=" in text and any(mark in text for mark in _ASSIGNED_MARKS):
        for match in _compiled(_ASSIGNED).finditer(text):
            if is_distinct(match["key"]):
                yield *match.span("key"), "secret of an .env file"


def replace_shapes(text: str, instead: Callable[[str, str], str | None]) -> str:
    """The text with others in the place of keys.

    Args:
        text: where they are looked for.
        instead: `instead(key, kind)`; None: it stays.

    .. versionadded:: 0.1
    """
    pieces, done = [], 0
    for start, end, kind in sorted(find_shapes(text), key=lambda span: (span[0], -span[1])):
        if start >= done and (other := instead(text[start:end], kind)) is not None:
            pieces += [text[done:start], other]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def long_words(text: str) -> str:
    """The words of a text that are long enough to be a key or to hold one; prose has few of them."""
    return "\n".join(word for word in text.split() if len(word) >= MIN_SECRET)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_distinct(value: str) -> bool:
    """Whether a value that is called secret can be looked for in texts: it is no word, no number, no path and no
    address, which stand there for reasons of their own.

    .. versionadded:: 0.1
    """
    if len(value) < MIN_SECRET or len(value.split()) != 1 or "://" in value or value[0] in "/~.$<{%":
        return False
    if value.isalpha() or value.isdigit():
        return len(value) >= MIN_WORD
    return not re.fullmatch(r"(?:[A-Za-z]+[-_./])*[A-Za-z]+|[*x._-]+", value) or len(value) >= 2 * MIN_WORD
