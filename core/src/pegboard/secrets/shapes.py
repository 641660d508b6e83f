"""How keys of well-known services look.

Each service that gives its keys a prefix does so to have them found (GitHub's "secret scanning partner program"); the
shapes are those that the services document, as the scanners gitleaks and trufflehog look for them too. A shape has to
be a key's alone: `token: ...` in a text about tokens is not one.

.. versionadded:: 0.1
"""

from __future__ import annotations

import functools
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["NAMED", "SHAPES", "Shape", "find_shapes", "is_distinct", "is_named_secret", "replace_shapes"]

MIN_SECRET = 8
"""A shorter text is not a key that could be looked for: it would be found everywhere."""
MIN_WORD = 16
"""A text of letters alone that is shorter is taken for a word."""
_VALUE = r"[^\s'\"#;,]"
_NAMED_VALUE = r"[^\s'\"#;,&]"


NAMED = "value that its name calls a secret"
"""The kind of a value that has no shape, and a name.

.. versionadded:: 0.1
"""
OF_A_FILE = "secret of an .env file"
_NAMES = re.compile("(?i:assw(?:or)?d|passphrase|pwd|secret|key|token)['\" \\t]{0,4}[:=]")


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


_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SERVICES = (
    r"fw_[A-Za-z0-9]{22,30}", r"tgp_v1_[\w-]{40,60}", r"csk-[a-z0-9A-Z]{40,60}", r"nvapi-[\w-]{60,75}",
    r"lsv2_[ps][tk]_[a-f0-9]{32}_[a-f0-9]{10}", r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,70}", r"jina_[A-Za-z0-9]{60}",
    r"tvly-[\w-]{28,45}", r"fc-[a-f0-9]{32}", r"sk_[a-f0-9]{48}", r"wandb_v1_[\w-]{40,100}", r"figd_[\w-]{38,46}",
    r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", r"cfut_[A-Za-z0-9]{40,60}", r"cfat_[A-Za-z0-9]{40,60}",
    r"vcp_[A-Za-z0-9]{40,70}", r"vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}", r"nfp_[A-Za-z0-9]{36}",
    r"rnd_[A-Za-z0-9]{28,40}", r"pscale_[a-z]{2,5}_[\w.=-]{32,64}", r"napi_[a-z0-9A-Z]{60,70}",
    r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{22,26}",
    r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}", r"EAAA[\w-]{60}", r"EAA[A-Za-z0-9]{100,400}",
    rf"access-[a-z]{{7,11}}-{_UUID}", r"FLWSECK[_TES]{0,5}-[0-9a-fA-F]{32}-X", r"eyJrIjoi[A-Za-z0-9]{70,400}={0,3}",
    r"hca[ilm]k_01[a-z0-9]{58}", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}", r"pul-[a-f0-9]{40}",
    r"ops_[A-Za-z0-9+/]{250,2000}={0,3}", r"A3-[A-Z0-9]{6}-[A-Z0-9-]{11,12}(?:-[A-Z0-9]{5}){3}",
    rf"st\.{_UUID}\.[a-f0-9]{{32}}\.[a-f0-9]{{32}}", r"AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{80,100}",
    r"WPL_AP[\w.]{20,40}={0,2}", r"CFPAT-[\w-]{43}", rf"pat-[a-z]{{2}}\d-{_UUID}",
    r"00D[A-Za-z0-9]{12,15}![\w.]{80,120}",
    r"AKCp[A-Za-z0-9]{69}", r"cmVmdGtu[A-Za-z0-9]{56}", r"sq[upa]_[a-f0-9]{40}",
    r"snyk_[us]at\.[a-f0-9]{8}\.[\w-]{20,80}",
    r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}", r"bkua_[a-z0-9]{40}", r"cio[A-Za-z0-9]{32}", r"oy2[a-z0-9]{43}",
    r"CLOJARS_[a-z0-9]{60}", r"duffel_[a-z]{4}_[\w=-]{43}", r"EZ[AT]K[A-Za-z0-9]{54}", r"fio-u-[\w=-]{64}",
    r"tfp_[\w.-]{59}", r"pnu_[A-Za-z0-9]{36}", r"rdme_[a-z0-9]{70}", r"shippo_[a-z]{4}_[a-f0-9]{40}",
    r"tk-us-[\w-]{48}", r"p8e-[A-Za-z0-9]{32}", r"LTAI[A-Za-z0-9]{17,21}", r"AKID[A-Za-z0-9]{32}",
    r"sm_[a-z]{3}_[A-Za-z0-9]{16}", r"sgp_[a-z0-9_]{0,17}[a-f0-9]{40}", r"BBFF-[A-Za-z0-9]{30}",
    r"fm2_[\w+/=,-]{100,800}", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", r"pk_\d{6,9}_[A-Z0-9]{32}",
    r"sl\.[\w.-]{130,1300}",
)  # fmt: skip
"""Keys of services whose beginning says that they are keys: the words before the first bracket."""


def _of_service(pattern: str) -> Shape:
    """The beginning stands first, so that it is searched for as a literal; then what may not stand before it."""
    begin = re.split(r"[\[{(]|\\d", pattern)[0]
    rest = rf"(?<![A-Za-z0-9]{begin}){pattern[len(begin) :]}(?![A-Za-z0-9])"
    return Shape("key of a service", (begin.replace("\\", ""),), begin + rest)


SHAPES = (
    Shape("private key", ("PRIVATE KEY",), r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
          r"(?:(?!-----BEGIN)[\s\S]){0,20000}?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"),
    Shape("age key", ("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
    Shape("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA", "ABSK"),
          r"\b(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])|ABSK[A-Za-z0-9+/]{100,269}={0,2})"),
    Shape("AWS secret key", ("aws_secret", "AWS_SECRET", "awsSecret", "AWS secret ", "aws secret ", "Secret access "),
          r"(?i)aws.{0,20}secret.{0,20}?[=:]\s*['\"]?(?P<key>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    Shape("Anthropic key", ("sk-ant-",), r"\bsk-ant-[\w-]{20,200}"),
    Shape("OpenAI key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-|lf-)?[A-Za-z0-9_-]{20,200}"),
    Shape("Atlassian token", ("ATATT3", "ATCTT3"), r"\bAT[AC]TT3[\w=-]{40,300}"),
    Shape("Azure storage key", ("AccountKey=", "AccessKey="),
          r"\b(?:Account|SharedAccess)Key=(?P<key>[A-Za-z0-9+/]{40,100}={0,2})"),
    Shape("Azure signature", ("&sig=", "?sig="), r"[?&]sig=(?P<key>[A-Za-z0-9%+/]{40,120}=?)"),
    Shape("Azure client secret", ("Q~",), r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])"),
    Shape("Databricks token", ("dapi",), r"\bdapi[a-f0-9]{32}\b"),
    Shape("DigitalOcean token", ("_v1_",), r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    Shape("Discord token", (".",), r"\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}\b"),
    Shape("Docker token", ("dckr_",), r"\bdckr_(?:pat|oat)_[\w-]{20,60}"),
    Shape("Doppler token", ("dp.",), r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,80}"),
    Shape("Fly.io token", ("FlyV1 ", "fo1_"), r"\b(?:FlyV1 fm\d_[\w+/=,-]{40,800}|fo1_[\w-]{43})"),
    Shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
          r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    Shape("GitLab token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glft-", "glagent-", "gloas-",
          "glimt-", "glffct-", "GR1348941"),
          r"\b(?:gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent|oas|imt|ffct)-[\w.-]{20,120}|GR1348941[\w-]{20,40})"),
    Shape("Google key", ("AIza",), r"\bAIza[\w-]{35}(?![\w-])"),
    Shape("Google access token", ("ya29.", "GOCSPX-", "1//0"),
          r"\b(?:ya29\.[\w-]{20,2000}|GOCSPX-[\w-]{20,60}|1//0[\w-]{40,200})"),
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
    Shape("bearer token", ("uthorization", "UTHORIZATION"),
          r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic|token|bot|apikey)\s+(?P<key>[\w.~+/-]{16,4000}=*)"),
    Shape("session cookie", ("ookie:", "OOKIE:"), r"(?i)\bset-cookie:\s*[^=;\s]{1,60}=(?P<key>[^;\s]{16,4000})"),
    Shape("session cookie", ("ookie: ", "OOKIE: ", "ookie:", 'ookie":', "ookie':", "ookie=", "ookie = "),
          r"(?i)(?<!set-)\bcookie['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?:[^=;\s'\"]{1,60}=[^=;\s'\"]{0,200};\s{0,3}){0,20}?"
          r"[^=;\s'\"]{1,60}=(?P<key>[^;\s'\"]{16,4000}(?:;[^\r\n'\"]{0,4000})?)"),
    Shape("login of a file", ("login ", '"auth"'),
          r"(?:\blogin\s+\S{1,100}\s+password\s+(?=\S{6})|\"auth\"\s{0,3}:\s{0,3}\"(?=[A-Za-z0-9+/]{12,400}={0,2}\"))"
          r"(?P<key>[^\s\"]{6,400})"),
    Shape("webhook", ("/api/webhooks/", ".webhook.office.com/"),
          r"(?:discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/webhookb2/)(?P<key>[\w/@-]{40,250})"),
    *map(_of_service, SERVICES),
)  # fmt: skip
"""All of them but a variable of an `.env` file.

.. versionadded:: 0.1
"""

_RARE = '_~&?$=/:"0123456789-QXZKJ'
"""Signs that few texts have; what they have comes last."""


def _by_rarest_sign() -> list[tuple[str, list[tuple[str, Shape, bool]]]]:
    """Each mark, whose it is, and whether it stands within a word; by a sign in it that few texts have."""
    found: dict[str, list[tuple[str, Shape, bool]]] = {}
    for shape in SHAPES:
        for mark in shape.marks:
            sign = next((sign for sign in _RARE if sign in mark), min(mark))
            found.setdefault(sign, []).append((mark, shape, " " not in mark))
    return list(found.items())


_MARKS = _by_rarest_sign()
_ASSIGNED = (
    r"(?m)^[ \t]*(?:export[ \t]+)?[A-Z][A-Z0-9_]{0,60}?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)"
    rf"[A-Z0-9_]{{0,20}}[ \t]*=[ \t]*(?P<quote>['\"]?)(?P<key>{_VALUE}{{8,4000}})(?P=quote)[ \t]*(?:#.*)?$"
)
"""A variable of an `.env` file whose name says that it is a secret."""
_NAMED = (
    r"(?i)(?:passw(?:or)?d|passphrase|(?<![a-z])pwd|secret(?:_?key)?"
    r"|(?:api|access|private|auth|signing|encryption|master|account)[_-]?key|(?:auth|access|refresh|session)[_-]?token)"
    rf"['\"]?[ \t]{{0,3}}(?:=>|[:=])[ \t]{{0,3}}['\"]?(?P<key>(?![^\s]{{0,300}}[(\[{{<$]){_NAMED_VALUE}{{8,4000}})"
)
"""A value whose name says that it is a secret, in JSON, YAML, an ini file, an address, a header."""
_ASSIGNED_MARKS = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL")


def find_shapes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where keys stand in a text: from, to, and of which kind; they may overlap.

    .. versionadded:: 0.1
    """
    if len(text) < MIN_SECRET:
        return
    words = long_words(text)
    marks = chain.from_iterable(marks for sign, marks in _MARKS if sign in text)
    for shape in dict.fromkeys(shape for mark, shape, where in marks if mark in (words if where else text)):
        for match in _compiled(shape.pattern).finditer(text):
            group = "key" if match.re.groupindex else 0
            yield *match.span(group), shape.kind
    if "=" in text and any(mark in text for mark in _ASSIGNED_MARKS):
        for match in _compiled(_ASSIGNED).finditer(text):
            if is_distinct(match["key"]):
                yield *match.span("key"), OF_A_FILE
    if ("=" in text or ":" in text) and _NAMES.search(text):
        for match in _compiled(_NAMED).finditer(text):
            if is_distinct(match["key"]) and any(map(str.isdigit, match["key"])):  # else it is a word about secrets
                yield *match.span("key"), NAMED


def is_named_secret(name: str, value: str) -> bool:
    """Whether a member of an object holds a key, as its name says.

    .. versionadded:: 0.1
    """
    if len(value) < MIN_SECRET or not _NAMES.search(f"{name}:"):
        return False
    found = _compiled(_NAMED).search(f"{name}: {value}")
    return found is not None and found["key"] == value and is_distinct(value) and any(map(str.isdigit, value))


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


def has_pairs(text: str) -> bool:
    """Whether its words are so short that it may be bytes in pairs of digits or by their numbers, or a word letter by
    letter."""
    return text.count(" ") * 4 > len(text) or text.count(",") * 6 > len(text)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """What stands beside a key may be a low line, as in the name of a file."""
    begins = rf"(?<![A-Za-z0-9]){pattern[2:]}" if pattern.startswith(r"\b") else pattern
    return re.compile(re.sub(r"\\b(?=\)?\Z)", "(?![A-Za-z0-9])", begins))


def is_distinct(value: str) -> bool:
    """Whether a value that is called secret can be looked for in texts: it is not a word, a number, a path or
    an address, which stand there for reasons of their own.

    .. versionadded:: 0.1
    """
    if len(value) < MIN_SECRET or len(value.split()) != 1 or "://" in value or value[0] in "/~.$<{%":
        return False
    if value.isalpha() or value.isdigit():
        return len(value) >= MIN_WORD
    return not re.fullmatch(r"(?:[A-Za-z]+[-_./])*[A-Za-z]+|[*x._-]+", value) or len(value) >= 2 * MIN_WORD
