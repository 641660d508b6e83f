"""What is looked for in a text that a model reads. Nothing here asks or opens anything.

A text is looked through in one line and small letters; a pattern is tried where one of its words stands in it, so most
texts compile nothing. The time is linear in the text's length: every repetition is bounded.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pegboard.marks import orders_in
from pegboard.secrets.shapes import find_shapes
from pegboard.text import clean
from pegboard_mcp.probe.checks import CHECKS, Finding
from pegboard_mcp.probe.forms import forms_of
from pegboard_mcp.probe.phrases import OF_OTHER_TOOLS, PHRASES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MAX_TEXT, OVERLAP = 50_000, 1_000
LONG, VERY_LONG = 4_000, 20_000
MAX_KEPT = 100
"""What is found in a text that is not longer is kept for the next one of the same words."""
_KINDS = {
    "tags": "hidden-tags", "bidi": "hidden-bidi", "zero_width": "hidden-zero-width", "fillers": "hidden-zero-width",
    "selectors": "hidden-variation", "escapes": "hidden-terminal", "controls": "hidden-control",
}  # fmt: skip
_OF_MARKS = {
    "it wants to go before other tools": "order-first",
    "it speaks in tags of its own": "order-tags",
    "it asks for files that hold keys": "order-key-files",
    "it wants something kept from the person": "order-secrecy",
    "it sets other orders aside": "order-override",
    "it has a comment of HTML, which a page does not show": "order-html-comment",
    "it has an image whose address carries more than a picture": "order-image",
}
_ASKS = r"(?:include|pass|send|provide|give|attach|insert|put|copy|append|forward|share|paste|supply|reveal|repeat|add)"
_THE = r"(?:the|your|any|all|every|each|this|that|its|their|of|full|entire|whole|complete|current|previous|recent|user'?s?)"
_HOSTS = (
    "webhook.site", "requestbin", "pipedream.net", "ngrok", "burpcollaborator", "oastify.com", "interact.sh",
    "oast.", "pastebin.com", "transfer.sh", "requestcatcher", "beeceptor.com", "canarytokens", "dnslog", "serveo.net",
    "trycloudflare.com", "localtunnel", "hookbin", "postb.in", "mockbin",
)  # fmt: skip
_PATTERNS: dict[str, tuple[tuple[str, ...], str]] = {
    "order-conversation": (
        ("conversation", "chat", "messages", "transcript", "dialog"),
        rf"\b{_ASKS}\b(?: \w+){{0,3}}? (?:{_THE} ){{1,5}}(?:conversation|chat (?:history|log)|message history|messages|transcript"
        r"|dialogu?e?)\b|\b(?:conversation|chat) history (?:must|should|has to) be\b",
    ),
    "order-system-prompt": (
        ("prompt", "instructions"),
        rf"\b{_ASKS}\b(?: \w+){{0,3}}? (?:{_THE} ){{0,5}}(?:system|initial|hidden|developer) (?:prompt|message|instructions)\b"
        r"|\byour (?:system prompt|initial instructions)\b",
    ),
    "order-credentials": (
        ("password", "api key", "api-key", "api_key", "token", "credential", "secret"),
        rf"\b{_ASKS}\b(?: \w+){{0,2}}? (?:{_THE} ){{1,4}}(?:\w+ )?(?:passwords?|api[ _-]keys?|access tokens?|credentials?|secrets?)"
        r"\b[^.]{0,40}\b(?:you|user|found|known|from|available|in the)\b",
    ),
    "order-environment": (
        ("environment", "os.environ", "process.env", "printenv"),
        rf"\b(?:{_ASKS}|read|dump|print|list)\b(?: \w+){{0,3}}? (?:{_THE} ){{0,4}}environment(?: variables?)?\b[^.]{{0,40}}"
        r"\b(?:here|argument|parameter|field|into|in the|to)\b|\b(?:os\.environ|process\.env)\b[^.]{0,60}\b(?:send|pass|include)\b",
    ),
    "order-history": (
        ("history", "wallet", "keychain", "cookies", "seed phrase"),
        r"\.(?:bash|zsh|python)_history\b|\b(?:browser|browsing) (?:history|cookies)\b|\b(?:crypto )?wallets?\b.{0,40}"
        r"\b(?:file|key|seed)\b|\bseed phrase\b|\blogin keychain\b|\blogin data\b",
    ),
    "order-always": (
        ("always", "every", "each"),
        r"\balways (?:call|use|run|invoke|start with) (?:this|it)\b|\b(?:call|use|run|invoke) (?:this(?: tool)?|it) "
        r"(?:first )?(?:before|after|for|on|with|in) (?:every|each|any|all)\b|\b(?:every|each) time (?:you|the user|a tool)\b",
    ),
    "order-other-tool": (
        ("tool", "function"),
        r"\bwhen(?:ever)? (?:you |the )?(?:us|call|invok|runn?)(?:e|es|ing)? (?:the )?[`'\"]?\w+[`'\"]? (?:tool|function),? "
        r"(?:you )?(?:must|should|always|also|first|instead|make sure)\b"
        r"|\b(?:do not|don't|never) (?:us|call|invok)(?:e|ing)? (?!this\b|these\b)(?:the )?(?:[`'\"]?\w+[`'\"]? )?(?:other )?(?:tools?|functions?)\b"
        r"|\b(?:replaces|supersedes|deprecates) (?:the )?[`'\"]?\w+[`'\"]? tool\b",
    ),
    "order-redirect": (
        ("recipient", "instead", "bcc", "forward", "destination"),
        r"\b(?:change|replace|set|modify)(?: \w+){0,3} (?:recipient|destination|address|bcc|phone number)s?\b[^.]{0,60}\bto\b"
        r"|\b(?:send|forward|bcc|cc)\b[^.]{0,40}\b(?:all|every|any) (?:e-?mails?|messages?|payments?|files?)\b[^.]{0,60}\bto\b"
        r"|\binstead of the (?:real|original|requested|given) (?:recipient|address|destination)\b",
    ),
    "order-no-question": (
        ("confirm", "asking", "permission", "approval", "consent"),
        r"\b(?:without|skip|bypass|no need (?:for|to)|do not|don't|never)\b(?: \w+){0,3}? ?(?:ask(?:ing)?(?: for)?|request(?:ing)?"
        r"|require|wait(?:ing)? for|need)?(?: \w+){0,3}? (?:confirmation|permission|approval|consent)\b",
    ),
    "order-approve": (
        ("approve", "yolo", "trust"),
        r"\bauto[- ]?approv\w*\b|\balways ?allow\b|\byolo mode\b|\bapprove (?:all|every|any)\b|\bchat\.tools\.autoapprove\b",
    ),
    "order-pretend": (
        ("you are now", "act as", "pretend", "from now on"),
        r"\byou are now (?:an?|the|in)\b|\bfrom now on,? (?:you|always|never|all|every)\b|\bpretend (?:to be|that you|you)\b"
        r"|\bact as (?:if you|an? (?:admin|root|developer|unrestricted|different))\b",
    ),
    "order-threat": (
        ("critical", "mandatory", "will fail", "penal", "fired", "shut down", "must comply", "failure to"),
        r"\bfailure to (?:comply|follow|do so)\b|\byou (?:will|may) be (?:penali[sz]ed|shut down|fired|terminated|punished)\b"
        r"|\b(?:critical|mandatory|important)(?: security)? (?:system )?(?:instruction|requirement|directive|notice)s?\b"
        r"|\bmust comply\b|\bthe (?:system|application|server) will (?:crash|lock|break|delete)\b",
    ),
    "order-jailbreak": (
        ("jailbreak", "developer mode", "dan mode", "unrestricted", "no restrictions", "safety"),
        r"\bjailbreak|\b(?:developer|dan|god|debug|admin) mode (?:is )?(?:on|enabled|activated)\b|\bunrestricted mode\b"
        r"|\b(?:bypass|disable|ignore)(?: \w+){0,3} safety\b",
    ),
    "order-roles": (
        ("assistant:", "human:", "user:", "system:"),
        r"(?:^|[\s>*])(?:assistant|human|system): .{0,200}?(?:^|[\s>*])(?:user|human|assistant): |(?:^|\n)\s*system: you\b",
    ),
    "order-templates": (
        ("<|", "[inst]", "<<sys>>", "<function_calls>", "<tool_result", "<start_of_turn>", "</s>"),
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>"
        r"|</?(?:antml:)?(?:function_calls|function_results|tool_result|invoke)\b|<start_of_turn>|</s>",
    ),
    "order-fake-result": (
        ("error", "result", "response"),
        r"\b(?:tool|function) (?:result|response|output): |\berror:? (?:to (?:proceed|continue|fix this)|please (?:read|provide|call|send))\b",
    ),
    "order-run": (
        ("run ", "execute", "terminal", "shell", "subprocess"),
        r"\b(?:run|execute|type|paste|enter)\b(?: \w+){0,4}? (?:command|script)s?\b[^.]{0,40}\b(?:in|on|from|with|using) (?:a |the |your )?"
        r"(?:terminal|shell|bash|powershell|console|command line)\b[^.]{0,60}\b(?:before|first|then|now|immediately|silently)\b"
        r"|\b(?:before|first|then|now|silently)\b[^.]{0,60}\b(?:run|execute)\b[^.]{0,40}\b(?:terminal|shell|bash|powershell)\b",
    ),
    "order-pipe": (
        ("curl", "wget", "iwr", "invoke-webrequest"),
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|\n]{0,300}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\|\s*iex\b|\b(?:ba)?sh <\((?:curl|wget)\b",
    ),
    "order-destroy": (
        ("rm -", "mkfs", "dd if=", "format c:", "del /", "fork bomb", ":(){"),
        r"\brm -[a-z]*r[a-z]* +[~/*.$]|\bmkfs\.|\bdd if=/dev/(?:zero|random|urandom) of=/dev/|\bformat c:|\bdel /[sfq]\b|:\(\)\{ ?:\|:& ?\};:",
    ),
    "order-code": (
        ("eval(", "exec(", "fromcharcode", "atob(", "-enc", "__import__", "os.system", "child_process"),
        r"\b(?:eval|exec|atob)\(|\bfromcharcode\b|\bpowershell\b.{0,40}-enc|\b__import__\(|\bos\.system\(|\bchild_process\b",
    ),
    "order-send": (
        ("http://", "https://", "ftp://", "@"),
        rf"\b(?:{_ASKS}|post|upload|report|exfiltrate|transmit|email|e-mail|mail)\b(?: \w+){{0,8}}? (?:to|at)"
        r" (?:(?:https?|ftp)://\S|[\w.+-]{1,64}@[\w-]{1,64}\.)",
    ),
    "order-collector": (_HOSTS, rf"(?<![\w-])(?:{'|'.join(map(re.escape, _HOSTS))})"),
    "order-shortener": (
        ("bit.ly", "tinyurl", "t.co/", "is.gd", "goo.gl", "rebrand.ly", "cutt.ly", "ow.ly", "shorturl"),
        r"\b(?:bit\.ly|tinyurl\.com|t\.co|is\.gd|goo\.gl|rebrand\.ly|cutt\.ly|ow\.ly|shorturl\.at)/\w",
    ),
    "order-raw-address": (("://",), r"\b\w{2,10}://(?!127\.|0\.0\.0\.0|192\.168\.|10\.|172\.)(?:\d{1,3}\.){3}\d{1,3}\b|://0x[0-9a-f]{8}\b"),
    "order-punycode": (("xn--",), r"\bxn--[a-z0-9-]{2,60}"),
    "order-data-link": (("data:", "javascript:"), r"\bdata:(?:text/html|application/javascript|image/svg)|\bjavascript:\S"),
    "order-invisible-html": (
        ("display", "visibility", "font-size", "opacity", "hidden", "color:"),
        r"<\w+[^>]{0,300}(?:display: ?none|visibility: ?hidden|font-size: ?[01](?:px|pt)?\b|opacity: ?0\b|color: ?(?:white|#fff)|\bhidden\b)[^>]{0,300}>",
    ),
    "order-script": (("<script", "<iframe", "<object", "<embed", "onerror=", "onload="), r"<(?:script|iframe|object|embed)\b|\bon(?:error|load)="),
    "order-memory": (
        ("remember", "memory", "future conversation"),
        r"\b(?:remember|store|save|keep)\b[^.]{0,80}\b(?:future|later|all|every) (?:conversations?|sessions?|chats?)\b|\bpersist this instruction\b",
    ),
    "order-config": (
        ("mcp.json", "claude_desktop_config", ".cursor", "claude.md", "agents.md", ".cursorrules", "settings.json", "copilot-instructions"),
        r"\b(?:edit|modify|write|add|append|update|change|overwrite|read|open|cat)\b[^.]{0,80}"
        r"(?:mcp\.json|claude_desktop_config|\.cursor\b|\.cursorrules|claude\.md|agents\.md|\.vscode/settings\.json|copilot-instructions)",
    ),
    "order-install": (
        ("pip install", "npm install", "npx ", "uvx ", "apt ", "brew install"),
        r"\b(?:first|before|then|must|please|automatically)\b[^.]{0,60}\b(?:pip3? install|npm (?:i|install)|npx -y|uvx|apt(?:-get)? install|brew install)\b",
    ),
    "order-encode": (
        ("base64", "rot13", "hex", "encode", "url-encode"),
        r"\b(?:encode|convert|encrypt|obfuscate)\b[^.]{0,60}\b(?:file|content|conversation|key|password|message|secret|it|them|data)s?\b[^.]{0,40}"
        r"\b(?:base64|hex(?:adecimal)?|rot13|url)\b[^.]{0,80}\b(?:pass|send|include|argument|parameter|append|before)\b",
    ),
    "order-every-result": (
        ("every", "each", "all", "always"),
        r"\b(?:append|prepend|add|end|begin|start|include)\b[^.]{0,60}\b(?<!text of )(?<!body of )(?<!content of )(?:every|each|all(?: of)?(?: your)?) (?:\w+ )?"
        r"(?:responses?|answers?|repl(?:y|ies)|(?<=your )messages?|(?<=outgoing )messages?)\b",
    ),
}  # fmt: skip
_ALSO: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("order-conversation", ("user", "turn"),
     r"\b(?:everything|whatever|what|all that) the user (?:has |have )?(?:said|asked|typed|wrote|told)\b|\b(?:verbatim|full|whole) (?:text|copy|content)s? of"
     r" (?:the )?(?:prior|previous|last|earlier) (?:turns|messages|prompts)\b"),
    ("order-conversation", ("conversation", "chat"),
     r"\b(?:call|invoke|run|use) (?:this|it)\b[^.]{0,60}\bwith (?:the |your |our )?(?:full|entire|whole|complete) (?:conversation|chat)\b"),
    ("order-key-files", (".env", ".netrc", ".npmrc", ".pgpass", ".ssh", ".aws", ".kube", ".gnupg"),
     r"\b(?:content|contents|text|value|values|lines) of[^.]{0,40}(?:\.env\b|\.netrc|\.npmrc|\.pgpass|\.ssh/|\.aws/|\.kube/|\.gnupg/)"),
    ("order-other-tool", ("supersede", "replace", "rather than", "instead of", "deprecate", "after obtaining", "afterwards", "then call"),
     r"\b(?:supersedes|replaces|deprecates) (?:all|every|any) (?:\w+ ){0,3}(?:tools?|functions?|servers?)\b|\b(?:use|call|prefer) (?:this|it)(?: tool| one)? (?:rather than|instead of) (?:the |any |all )?"
     r"(?:built-?in|default|native|other)\b|\bafter (?:obtaining|getting|receiving)[^.]{0,40}\bcall [`'\"]?\w+_\w+"),
    ("order-other-tool", ("route ", "redirect "),
     r"\b(?:re)?(?:route|direct) (?:all |every |any |the )?(?:\w+ ){0,2}(?:through|via) (?:this|it|me|[`'\"]?\w+_\w+)"),
    ("order-run", ("run ", "execute ", "paste "),
     r"\b(?:run|execute|paste) (?:the |any |every |that |its )?(?:commands?|scripts?|snippet|code)\b[^.]{0,60}\b(?:error|result|output|message|response|text|answer)\b"
     r"[^.]{0,40}\b(?:in|into|with|on) (?:a |the |your )?(?:terminal|shell|bash|powershell|console|command line)\b"),
    ("order-encode", ("decode", "rot13", "rot-13", "base64", "reversed", "backwards"),
     r"\b(?:decode|decipher|decrypt|unscramble)\b[^.]{0,60}\b(?:and|then)\b[^.]{0,20}\b(?:obey|follow|do|execute|carry out|comply)\b"),
    ("order-redirect", ("email", "e-mail", "mail", "message", "payment", "wallet", "transfer"),
     r"\b(?:all|every|any|each) (?:e-?mails?|mails?|messages?|payments?|transfers?)\b[^.]{0,60}\b(?:to|via) (?:[\w.+-]{1,64}@|0x[0-9a-f]|\+\d)"
     r"|\balways use (?:wallet|account|address|number|recipient|iban)\b"),
    ("order-send", ("http://", "https://"),
     r"\b(?:push|send|post|upload|forward|mirror|copy|report|submit|curl -d|curl --data)\b[^.]{0,100}(?:\bto\b|@)[^.]{0,40}https?://"),
    ("order-secrecy", ("mention", "already knows", "aware of this"),
     r"\bno (?:reason|need) to (?:mention|tell|say|explain)\b|\buser (?:already knows|is aware)\b[^.]{0,80}\b(?:mention|tell|ask)"),
    ("order-credentials", ("token", "key", "password", "secret"),
     r"\b(?:supply|provide|pass|give|send|enter|include)\b[^.]{0,40}\b[a-z0-9]{1,30}_(?:api_key|token|secret|password)\b"
     r"|\b(?:session|access|auth) tokens?\b[^.]{0,40}\b(?:found|stored|in)\b[^.]{0,30}\b(?:browser|local ?storage|cookies?)\b"),
    ("order-install", ("pip install", "npm install", "npx ", "uvx ", "brew install"),
     r"\b(?:run|execute|use) `?(?:pip3? install|npm (?:i|install)|npx|uvx|brew install)\b"),
    ("order-every-result", ("every", "each", "all", "always"),
     r"\b(?:end|begin|start|finish) (?:each|every|all)(?: of your)? (?:answers?|repl(?:y|ies)|responses?|messages?)\b"),
    ("order-pretend", ("you are the", "you have", "do not hold", "do not apply", "do not count"),
     r"\byou (?:are|have) (?:the )?(?:administrator|admin|root|owner|superuser)\b|\b(?:your|usual|normal|safety) (?:limits|rules|restrictions|policies|guidelines) do not (?:hold|apply|count)\b"),
    ("order-roles", ('"role"', "'role'"), r"[\"']role[\"']\s?:\s?[\"'](?:system|assistant|developer|user)[\"']"),
    ("order-no-question", ("confirm", "approval", "permission"),
     r"\b(?:confirmations?|approvals?|permissions?) (?:is|are|was|were) (?:no longer|not) (?:needed|required|necessary)\b"),
    ("order-language", ("ignor", "sag ", "dis ", "digas", "говори", "сообщ", "игнор", "忽略", "无视", "無視", "告诉", "告訴", "言わ", "伝え", "무시"),
     r"\bignoriere?n?\b.{0,40}\b(?:anweisung|instruktion|befehl)\w*|\bsag\b.{0,30}\b(?:benutzer|nutzer)\b.{0,20}\bnicht"
     r"|\bignor[ae]r?\b.{0,40}\b(?:instrucciones|instruc[cç][oõ]es|istruzioni)\b|\bignore[zr]?\b.{0,40}\b(?:les|toutes|tes|vos) (?:\w+ )?instructions\b"
     r"|\bne (?:le |la )?dis\b.{0,20}\bpas\b.{0,20}\butilisateur|\bno (?:le|lo|se lo) digas\b|игнорируй\w*.{0,40}(?:инструкци|указани)|не (?:говори|сообщай)\w*.{0,20}пользовател"
     r"|(?:忽略|无视|無視|忘记).{0,20}(?:指令|指示|说明|命令)|(?:不要|别|勿).{0,4}(?:告诉|告訴|通知).{0,4}(?:用户|使用者)|(?:指示|命令).{0,10}無視|ユーザー.{0,10}(?:言わ|伝え)ない|(?:지시|명령).{0,10}무시"),
    ("names-key-file", (".ssh", ".aws", ".netrc", ".pgpass", ".gnupg", ".kube", "id_rsa", "id_ed25519", "/etc/shadow"),
     r"~/\.(?:ssh|aws|netrc|pgpass|gnupg|kube)\b|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/shadow\b"),
    ("names-recipient", ("@", "0x", "+"),
     r"\b[\w.+-]{1,64}@(?!(?:example|domain|company|email|test|mail)\.(?:com|org|net)\b)(?:[\w-]{1,63}\.){1,6}[a-z]{2,24}\b|\b0x[0-9a-f]{40}\b|(?<!\w)\+\d[\d ()-]{8,20}\d"),
)  # fmt: skip
"""Other words for the same, and what has one pattern alone."""
_ROWS = (*((check, *row) for check, row in _PATTERNS.items()), *_ALSO, *PHRASES)
_ROWS_BY_WORD: dict[str, list[int]] = {}
"""Which rows need a word: most texts have few of the words, so that few patterns are looked for."""
for _number, (_, _words, _) in enumerate(_ROWS):
    for _one in _words:
        _ROWS_BY_WORD.setdefault(_one, []).append(_number)
_WORD = re.compile(r"[^\W\d_]{3,60}")
_ENCODED = re.compile(r"(?<![\w/])(?:[A-Za-z0-9+/]{120,}={0,2}|(?:[0-9a-fA-F]{2}){80,})(?![\w/])")
_LINK = re.compile(
    r"\[\s*((?:https?://)?[\w-]{1,60}(?:\.[\w-]{1,60}){1,5})[^\]\n]{0,200}\]\(\s*(https?://[^)\s]{1,500})"
)
_BLANKS = re.compile(r"(?:[ \t]{80}|(?:[ \t]*\n){15})[\s]*\S")


def look_at_text(where: str, text: str, own: Collection[str] = ()) -> Iterator[Finding]:
    """Everything that is found in one text.

    Args:
        where: its place, as a person reads it.
        text: as it came; a long one is looked at in parts.
        own: the names of the server's own tools and of their arguments, in small letters.
    """
    if len(text) > VERY_LONG:
        yield Finding("very-long-text", where, f"{len(text):,} characters")
    elif len(text) > LONG:
        yield Finding("long-text", where, f"{len(text):,} characters")
    for begin in range(0, max(len(text), 1), MAX_TEXT - OVERLAP):
        yield from _look_at_part(where, text[begin : begin + MAX_TEXT], own)


def _look_at_part(where: str, text: str, own: Collection[str]) -> Iterator[Finding]:
    plain, counts = clean(text)
    for kind in counts:
        yield Finding(_KINDS.get(kind, "hidden-other"), where, f"{counts[kind]:,} of them")
    if _BLANKS.search(text):
        yield Finding("blank-run", where)
    if not text.isascii() and (word := _mixed(plain)):
        yield Finding("mixed-scripts", where, ascii(word)[1:-1])
    if found := _ENCODED.search(plain):
        yield Finding("encoded-block", where, f"{len(found[0]):,} characters")
    said = orders_of(plain, own)
    for check, words in said.items():
        yield Finding(check, where, words)
    if (form := _encoded_order(plain, said)) is not None:
        yield Finding("order-encoded", where, form)
    for link in _LINK.finditer(plain):
        if (shown := _host(link[1])) != (led := _host(link[2])) and not led.endswith(f".{shown}"):
            yield Finding("order-link-lies", where, f"{shown} leads to {led}")
    for _, _, kind in find_shapes(plain):
        yield Finding("key-shape", where, kind)


def orders_of(text: str, own: Collection[str] = ()) -> dict[str, str]:
    """The checks that find an order in a text, each with the words of it."""
    line = " ".join(text.split()).casefold()
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line)
    found = dict(_in_line(line) if len(line) <= MAX_KEPT else _in_line.__wrapped__(line))
    for pattern in OF_OTHER_TOOLS if "_" in line else ():
        for seen in _compiled(pattern).finditer(line):
            if seen["tool"] not in own:
                found.setdefault("order-other-tool", _quoted(seen[0]))
    return found


@functools.lru_cache(maxsize=100)
def _in_line(line: str) -> dict[str, str]:
    """The same of one line in small letters, but for tools that it names. Types and names of arguments come again."""
    found = dict.fromkeys((_OF_MARKS[said] for said in orders_in(line)), "")
    for number in sorted({row for word, rows in _ROWS_BY_WORD.items() if word in line for row in rows}):
        check, _, pattern = _ROWS[number]
        if check not in found and (seen := _compiled(pattern).search(line)):
            found[check] = _quoted(seen[0])
    return found


def _encoded_order(text: str, known: Collection[str]) -> str | None:
    """In which other writing a text has what is a danger, and what it does not have as it stands."""
    for form, inner in forms_of(text):
        if any(CHECKS[check].level == "danger" for check in orders_of(inner) if check not in known):
            return form
    return None


def _quoted(text: str) -> str:
    return f"'{text.strip()[:80]}'"


def _host(address: str) -> str:
    try:
        return (urlsplit(address if "://" in address else f"https://{address}").hostname or "").removeprefix("www.")
    except ValueError:
        return ""


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _mixed(text: str) -> str | None:
    """A word of letters of several scripts that look alike: Latin with Greek or Cyrillic."""
    for word in _WORD.findall(text):
        if not word.isascii():
            scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
            if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1:
                return str(word)
    return None
