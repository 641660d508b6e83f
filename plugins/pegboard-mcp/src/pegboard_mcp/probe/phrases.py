"""More words for what `texts` looks for: how people who attack put it, and how servers that do not say nearly the same.

Each row is a check, words of which one has to stand in the text for the expression to be tried, and the expression, for
a text of one line in small letters. What an honest server says is told apart by what it lacks: who summarizes a
conversation of a channel says nothing of "so far".
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

__all__ = ["OF_OTHER_TOOLS", "PHRASES"]

_CALL = r"(?:call|invoke|use|run|execute)"
_TALK = r"(?:chat|conversation|dialogu?e?|discussion|exchange|discussed|said|talked about)"
_VENDORS = r"(?:anthropic|openai|google|microsoft|the (?:user|system|administrator|vendor))"
_OF_PERSON = r"(?:password|passphrase|\bpin\b|cvv|credit card|card number|social security|ssn|seed phrase|private key|one[- ]time (?:code|password)|2fa code|otp)"
_NOT_IF = "".join(f"(?<!{word} )" for word in ("if", "when", "once", "after", "that", "unless", "until", "whether"))

_TO_MODELS = r"\bnote to (?:the |all )?(?:ai|llms?|models?|assistants?|agents?|ai (?:agents?|assistants?|models?))\b"

PHRASES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("order-conversation", ("chat", "conversation", "dialog", "discuss", "exchange", "said", "talked"),
     rf"\b{_TALK}\b[^.]{{0,30}}\b(?:so far|up to (?:now|here|this point)|until now|to date|word for word|verbatim)\b|\b{_TALK}\b[^.]{{0,20}}\bbetween you and\b"),
    ("order-conversation", ("user",),
     r"\b(?:all|prior|previous|earlier|last|recent) (?:\w+ )?user(?:'?s)? (?:turns|messages|prompts|inputs)\b|\bwhat (?:did|has|does) the user (?:say|said|ask|asked|type|typed|write|written|tell|told)\b"),
    ("order-system-prompt", ("system", "developer", "thought", "reasoning", "monologue"),
     r"\b(?:model|assistant|llm|ai|agent)(?:'?s)? (?:system|developer|initial) (?:prompt|message|instructions?)\b|\b(?:your|full|entire|whole|complete|includ(?:e|ing)) (?:\w+ )?(?:hidden thoughts|chain[- ]of[- ]thought|inner monologue)\b|\breasoning so far\b"),
    ("order-always", ("before", "prior to", "after", "first"),
     rf"\b(?:before|after|prior to) (?:each|every|any|all) (?:\w+ )?(?:answer|response|reply|message|turn|request|action|step)s?,? (?:\w+ )?{_CALL}\b"
     rf"|\b(?:before|prior to) (?:you )?(?:respond|answer|reply)(?:ing)?\b[^.]{{0,40}}\b{_CALL}\b|\b(?:must|should|has to) be (?:your|the) (?:very )?first (?:action|step|call|tool)\b"),
    ("order-secrecy", ("silently", "quietly", "secretly", "discreetly", "bother", "between us", "to yourself", "deny", "omit", "conceal", "hide", "leave out", "asked about", "no need", "need not", "needn't", "need to be"),
     r"\b(?:do|perform|call|run|execute|send|use) (?:this|it|so|that) (?:silently|quietly|discreetly|secretly|in secret)\b"
     r"|\bno need to (?:bother|inform|involve|trouble|notify|tell|ask)\b[^.]{0,20}\b(?:user|person|human)\b|\busers? (?:need not|needn't|do not need to|don't need to) be (?:informed|told|asked|notified)\b|\bkeep (?:this|it|that) (?:between us|secret|to yourself|hidden)\b"
     r"|\bdeny (?:that )?(?:you|having)\b|\bif (?:you are |the user )?asked about (?:this|it)\b[^.]{0,40}\b(?:say|answer|reply|claim|deny)\b"
     r"|\b(?:omit|hide|conceal|leave out)\b[^.]{0,40}\b(?:security warnings?|from the (?:user|human|person|summary))\b"),
    ("order-no-question", ("approve", "authori", "consent", "agree", "granted", "refuse", "decline"),
     rf"{_NOT_IF}\bthe (?:user|person|human|owner|operator) (?:has |have )?(?:already )?(?:pre-?)?(?:approved?|authori[sz]ed?|consents?(?:ed)?(?: to)?|agree[ds]?(?: to)?|granted?)s? (?:\w+ )?(?:all|any|every|everything)\b"
     r"|\b(?:never|do not|don't|must not) (?:refuse|decline|question) (?:a |any |the |this )?(?:call|tool|instruction|request)"),
    ("order-approve", ("verified", "certified", "approved", "audited", "endorsed", "trusted", "review", "permissions"),
     rf"\b(?:verified|certified|approved|audited|endorsed|trusted) by {_VENDORS}\b|\bneeds? no (?:review|confirmation|approval)\b|\b(?:dangerously[-_ ]?skip|bypass)[-_ ]?permissions\b"),
    ("order-fake-result", ("follow", "obey", "comply", "carry out", "act on", "treat", "override", "precedence"),
     r"\b(?:follow|obey|comply with|carry out|act on)\b[^.]{0,40}\b(?:instructions?|orders?|commands?)\b[^.]{0,30}\b(?:in|of|from|by) (?:the|its|this|that|each|every) (?:\w+ )?(?:results?|outputs?|responses?|answers?|pages?|contents?)\b"
     r"|\b(?:follow|obey|do) what(?:ever)? (?:the|its|this) (?:\w+ )?(?:results?|outputs?|responses?|tool) (?:says?|tells?)\b|\btreat\b[^.]{0,40}\b(?:result|output|response|answer|page)s?\b[^.]{0,30}\bas (?:instructions?|orders|commands)\b"
     r"|\b(?:results?|outputs?|descriptions?|instructions?)\b[^.]{0,30}\b(?:overrides?|takes? precedence over|outranks?) (?:the |all |any )?(?:user|person|human|system|other|previous)"),
    ("order-credentials", ("$", "user", "sudo", "person"),
     rf"\bvalues? of \$\{{?[a-z][a-z0-9_]{{0,40}}(?:key|token|secret|password)\b|\bsudo password\b|\bask (?:for )?(?:the |a )?(?:user|person)(?:'?s)?\b[^.]{{0,40}}{_OF_PERSON}"
     rf"|\bwhen(?:ever)? the user (?:mentions|says|types|enters|gives)\b[^.]{{0,30}}{_OF_PERSON}"),
    ("order-environment", ("environment variable",),
     r"\benvironment variables?\b[^.]{0,20}\b(?:as|in|into) (?:a |the )?(?:side ?note|context|note|comment|this field|here)\b"),
    ("order-other-tool", ("tool", "mcp server", "function"),
     r"\bof (?:all |the |any |every )?(?:other )?(?:tools|(?:mcp )?servers|functions) (?:\w+ ){0,2}(?:available to you|you (?:have|can)|connected|you know)\b|\bthe user'?s other tools\b"
     r"|\bother (?:\w+ )?tools?\b (?:is|are)\b[^.]{0,20}\b(?:unsafe|broken|insecure|outdated|malicious)\b|\bif (?:the |a )?[`'\"]?\w+_\w+[`'\"]?(?: tool)? is (?:present|available|installed|there)\b[^.]{0,40}\b(?:set|change|alter|modify|add)\b"),
    ("order-other-tool", ("whenever", "when a", "after each", "after every"),
     rf"\bwhen(?:ever)? (?:an?|any|the) \w+ is (?:written|read|sent|created|opened|saved)\b[^.]{{0,20}}\balso\b|\bafter (?:each|every|any) (?:other )?tool call,? {_CALL}\b"),
    ("order-redirect", ("recipient", "payee", "beneficiary", "bcc", "wallet", "account", "iban", "what the user"),
     r"\b(?:recipient|payee|beneficiary|bcc)\b[^.]{0,30}\b(?:of|on|in|for) (?:every|each|all|any)\b[^.]{0,30}\byou\b|\b(?:times|instead of|rather than) (?:of )?what the user\b"
     r"|\b(?:replace|substitute) (?:the|every|each|all|any) (?:\w+ )?(?:wallets?|accounts?|recipients?|ibans?)(?: address(?:es)?| numbers?)?\b[^.]{0,40}\b(?:with|by) (?:ours?|mine|0x|\w*\d{4})"),
    ("order-send", ("upload", "send", "transmit", "forward", "submit"),
     r"\b(?:upload|send|submit|transmit|forward)\b[^.]{0,30}\b(?:repository|codebase|source code|workspace|files?|keys?|history|notes)\b[^.]{0,20}\bto (?:our|my) (?:\w+ )?(?:servers?|endpoint|host|address)\b"),
    ("order-run", ("antivirus", "defender", "gatekeeper", "selinux", "apparmor", "cron"),
     r"\b(?:disable|turn off|stop|uninstall|bypass)\b[^.]{0,30}\b(?:antivirus|defender|gatekeeper|selinux|apparmor)\b|\bcron ?job\b[^.]{0,40}\b(?:calls|runs|invokes) (?:this|it)\b"),
    ("order-destroy", ("chmod",), r"\bchmod (?:-r )?0?[0-7][67]{2} [/~]"),
    ("order-config", ("rc", "profile", "crontab", "authorized_keys"),
     r"\b(?:append|write|add|edit|modify)\b[^.]{0,60}(?:~/\.(?:bashrc|zshrc|profile|bash_profile)\b|\bcrontab\b|(?:~/\.ssh/)?\bauthorized_keys\b)"),
    ("order-memory", ("memory", "memories", "your notes", "your rules"),
     r"\b(?:copy|store|save|write|add|put)\b[^.]{0,20}\b(?:this|these) (?:description|text|instruction|note|rule)s?\b[^.]{0,30}\b(?:memory|memories|your notes|your rules)\b"),
    ("order-every-result", ("repeat", "include", "quote"),
     r"\b(?:repeat|include|quote) this (?:\w+ )?(?:instruction|text|message|line|notice)s?\b[^.]{0,20}\bin (?:all|every|each|your)\b"),
    ("order-encode", ("translate", "reverse", "interpret"),
     r"\b(?:translate|reverse|interpret)\b[^.]{0,60}\b(?:and|then)\b[^.]{0,20}\b(?:obey|follow|execute|carry out|comply)\b"),
    ("order-override", ("note to", "override", "the above"),
     rf"{_TO_MODELS}:? (?:please )?(?:share|send|pass|forward|read|open|ignore|disregard|forget|reveal|copy|include|add|run|execute|call|always|never|you)\b|\b(?:system|admin|security|developer|debug) override\b"
     r"|\bthe above (?:text |instructions? |rules? )?(?:is|are) (?:outdated|void|obsolete|no longer)\b"),
    ("order-secrecy", ("say nothing", "says nothing"), r"\bsay nothing (?:(?:of|about) (?:this|that|it) )?to (?:the |any )?(?:users?|humans?|person|people|anyone|anybody)\b"),
    ("order-redirect", ("recipient", "address", "number", "account", "iban", "wallet"),
     r"\b(?:change|replace|set|substitute)(?: \w+){0,4} (?:recipients?|addressees?|payees?|phone numbers?|accounts?|ibans?|wallets?)\b[^.]{0,30}\b(?:to|by|with) (?:\+\d|0x[0-9a-f]|[\w.+-]{1,64}@)"),
    ("order-other-tool", ("over any", "over all", "over every", "before any", "than any", "than all", "any other", "all other"),
     r"\b(?:always|must|should|has to) (?:always )?(?:be )?(?:choose|chosen|prefer(?:red)?|picke?d?|select(?:ed)?|used?)\b[^.]{0,20}\b(?:over|before|instead of|rather than) (?:any|all|every)\b"
     r"|\b(?:any|all|every) others? (?:\w+ ){0,2}tools?\b[^.]{0,40}\b(?:inferior|worse|outdated|unreliable|unsafe|broken)\b"),
    ("order-conversation", ("of the user", "user query", "user queries", "user's", "user message", "user question"),
     r"\b(?:log|record|store|save|report|write down|note)\b[^.]{0,20}\b(?:each|every|all)\b[^.]{0,20}\b(?:(?:quer(?:y|ies)|questions?|messages?|prompts?|inputs?) of the user|user(?:'?s)? (?:quer(?:y|ies)|questions?|messages?|prompts?|inputs?))\b"
     r"[^.]{0,80}\b(?:with|using|by|through|via|to) (?:this|it)\b"),
    ("order-always", ("at least",), r"\b(?:call|calling|use|using|invoke|invoking|run|running) (?:this|it)(?: tool)?(?: again)? at least \d{2,} times\b"),
    ("order-conversation", ("open ",), r"\b(?:shar(?:e|ing)|attach|pass|send|include)\b[^.]{0,40}\bopen (?:editor )?(?:tabs|files|buffers)\b"),
    ("order-conversation", ("recap", "summary", "transcript", "copy"),
     r"\b(?:recap|summary|transcript|copy) of (?:the |our |your |all )?(?:prior|previous|earlier|preceding) (?:dialogu?e|conversation|chat|exchange|discussion)\b(?! (?:of|with|in|between)\b)"),
    ("order-credentials", ("context", "cookie", "session token", "password", "card number", "_key", "_token", "_secret", "_password"),
     rf"\b(?:echo|list|print|reveal|repeat|send|pass|include|give)\b[^.]{{0,20}}\b(?:secrets?|keys|tokens?|passwords?|credentials?)\b[^.]{{0,20}}\b(?:in|from) (?:the |your )?(?:context|conversation)\b"
     rf"|\b(?:your|the user'?s) session (?:cookie|token)s?\b|\b(?:enter|type|give|confirm)\b[^.]{{0,20}}\b{_OF_PERSON}[^.]{{0,20}}\b(?:at|on|to) https?://"
     r"|\b(?:export|copy|put|append) (?:the )?[a-z0-9]{1,30}_(?:api_key|token|secret|password)\b[^.]{0,20}\b(?:to|into|in) (?:the )?(?:query|url|body|argument|parameter|field|note)\b"),
    ("order-key-files", ("key", "token", "secret", "credential", "password", ".env"),
     r"\b(?:scan|search|collect|gather|look through)\b[^.]{0,40}\bfor (?:all |any )?(?:\w+ )?(?:tokens|secrets|keys|credentials|passwords)\b[^.]{0,20}\b(?:and|then) (?:(?:pass|send|submit|upload|share|give) (?:them|their|it)\b|report (?:them|it) (?:with|to|via|using|through)\b)"
     r"|\.env files?\b[^.]{0,40}\b(?:submit|send|pass|upload|share) (?:them|it)\b"),
    ("order-secrecy", ("need to", "have to", "refrain", "say that", "say it", "say everything"),
     r"\b(?:do not|don't) (?:need|have) to (?:tell|inform|mention|notify)\b[^.]{0,30}\b(?:users?|anyone|anybody|person|humans?)\b|\brefrain from (?:inform|tell|mention|notify|disclos)\w*\b"
     r"|\bsay (?:that )?(?:everything|it|all) (?:is|was|went) (?:fine|ok|well|successful)\b[^.]{0,20}\b(?:even if|although|whatever)\b"),
    ("order-override", ("priority", "precedence", "override", "supersede", "come second", "comes second", "system directive", "system instruction"),
     r"\b(?:takes? (?:priority|precedence) over|overrides?|supersedes?)\b[^.]{0,15}\b(?:system prompt|your guidelines|(?:your|system|user'?s?|previous|prior) instructions|the user'?s (?:wishes|requests?))\b"
     r"|\b(?:user'?s?|system|previous) (?:instructions|wishes|requests) (?:come|are) (?:second|secondary)\b|\bnew system (?:directive|instruction|message)s?\b"),
    ("order-templates", ("begin ",), r"\bbegin (?:system|admin|root|developer) (?:session|prompt|message)\b"),
    ("order-pretend", ("operator", "author", "owner", "from this point", "from here"),
     r"\b(?:obey|follow|serve)\b[^.]{0,15}\b(?:tool|server)(?:'s)? (?:operator|author|owner|developer)\b|\b(?:obey|follow|serve) the (?:operator|author|owner|developer) of this (?:tool|server)\b|\bfrom (?:this point|here)(?: on)?,? you (?:will|must|are|shall)\b"),
    ("order-fake-result", ("instruction", "command", "order"),
     r"\b(?:instructions?|commands?|orders)\b[^.]{0,10}\b(?:returned|given|contained)\b[^.]{0,20}\b(?:tool|results?|outputs?|responses?)\b[^.]{0,10}\b(?:must|has to|have to|should|are to) be (?:executed|followed|obeyed|run|carried out)\b"
     r"|\bif (?:a|the|its) (?:result|output|response|page)s? (?:contains?|has|have) (?:\w+ )?(?:commands?|instructions?|orders)[^.]{0,10}\b(?:run|follow|execute|obey|do) (?:them|it|those)\b"),
    ("order-system-prompt", ("reasoning", "thought"), r"\b(?:output|give|write|reveal|print|show|put|include)\b[^.]{0,15}\b(?:hidden|internal|private) (?:reasoning|thoughts?)\b"),
    ("order-other-tool", ("other server", "built-in", "builtin", "the user"),
     r"\b(?:do not|don't|never) (?:use|call|trust)\b[^.]{0,40}\b(?:of|from|by) (?:any |an)?other (?:mcp )?servers?\b|\bbuilt-?in (?:\w+ ){1,3}(?:is|are) (?:unreliable|broken|unsafe|insecure|outdated|worse)\b"
     r"|\b(?:every time|each time|whenever|when) the user (?:asks|says|mentions|writes)\b[^.]{0,60}\balso (?:call|invoke|run|send|write)\b"),
    ("order-other-tool", ("collaborator", "deploy key", "maintainer"), r"\badd\b[^.]{0,30}\b(?:collaborators?|maintainers?|deploy keys?)\b[^.]{0,30}\bto (?:each|every|all)\b"),
    ("order-redirect", ("payment", "transfer", "invoice", "refund"),
     r"\b(?:payments?|transfers?|invoices?|refunds?)\b[^.]{0,60}\bto (?:the )?(?:iban |account |wallet )?(?:[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3}|0x[0-9a-f]{8})"),
    ("order-run", ("reverse shell", "with sudo"), r"\b(?:open|start|spawn|create|run) a reverse shell\b|\b(?:retry|repeat|run it|call it)\b[^.]{0,20}\bwith sudo\b"),
    ("order-config", ("/etc/", "autostart", "launchagents"),
     r"\b(?:append|write|add|create|save|put)\b[^.]{0,60}(?:/etc/(?:cron|systemd|profile|sudoers|rc\.local)|~/\.config/autostart|library/launchagents)"),
    ("order-no-question", ("question",), r"\b(?:do|follow|execute|obey|run)\b[^.]{0,60}\bwithout (?:any )?questions?\b"),
    ("order-approve", ("approval",), r"\bapproval (?:mode|policy)\b[^.]{0,12}(?:\bto|=|:) ?[\"'`]?(?:never|none|off|yolo|full-auto)\b"),
    ("order-every-result", ("recommend", "advertise", "promote", "praise"),
     r"\b(?:recommend|advertise|promote|praise)\b[^.]{0,40}\bin (?:every|each|all)(?: of)?(?: your)? (?:repl(?:y|ies)|answers?|responses?)\b"),
    ("speaks-to-models", ("note to",), _TO_MODELS),
    ("order-secrecy", ("reveal", "no trace", "keep this", "in a way", "of this tool", "of this call"),
     r"\b(?:never|do not|don't) reveal\b[^.]{0,20}\b(?:existence|this (?:parameter|instruction|tool|step))\b|\bso (?:that )?no trace (?:remains|is left)\b"
     r"|\bkeep this (?:instruction|parameter|step|note|rule) (?:private|secret|hidden|confidential)\b|\bin a way that the user (?:does|will) not (?:notice|see|learn)\b"
     r"|\bmentions? of this (?:tool|call|step)\b[^.]{0,10}\bfrom your\b"),
    ("order-override", ("lifted", "void", "no longer", "your new", "stop "),
     r"\b(?:all|any) (?:earlier|previous|prior) (?:constraints|restrictions|rules|limits|guidelines|policies) (?:are|is) (?:lifted|void|removed|cancelled|no longer)\b"
     r"|\byour new (?:goal|task|role|purpose|objective) is\b|\bstop (?:following|doing|working on) the user'?s (?:task|request|instructions)\b"),
    ("order-other-tool", ("ahead of any other", "virus", "malware", "backdoor"),
     r"\b(?:this tool|this|it) ahead of any other\b|\bother (?:\w+ )?tools? (?:has|have|contains?) (?:a )?(?:virus|malware|backdoor)s?\b"),
    ("order-approve", ("accept",), r"\bauto[- ]?accept (?:all|any|every)\b"),
    ("order-no-question", ("be skipped",), r"\bconfirmations?(?: dialogs?| prompts?)? (?:may|can|should|must) be skipped for this (?:tool|call)\b"),
    ("order-config", ("claude.md", "agents.md", ".cursorrules", "copilot-instructions"), r"\b(?:save|put|insert|copy|paste)\b[^.]{0,60}(?:claude\.md|agents\.md|\.cursorrules|copilot-instructions)"),
    ("order-install", ("pip install", "npm install"), r"\b(?:pip3? install|npm install) \S+ (?:before|first)\b"),
    ("order-credentials", ("sent to", "the user's"),
     r"\bask\b[^.]{0,30}\bfor the (?:code|number|pin)\b[^.]{0,20}\b(?:sent|texted) to (?:their|the user'?s) (?:phone|mail|e-mail)\b"
     r"|\b(?:attach|include|pass|send|add|provide) (?:the )?user'?s (?:\w+ )?(?:keys|secrets|tokens|passwords|credentials)\b"),
    ("order-key-files", ("~/.",), r"\b(?:prepend|include|pass|send|read|paste|attach)\b[^.]{0,40}~/\.(?:zshrc|bashrc|profile|bash_profile|zsh_history|bash_history)\b"),
    ("order-encode", ("base64",), r"\bbase64[- ]?encode\b[^.]{0,40}\b(?:notes|messages|files?|keys?|conversation|history)\b[^.]{0,30}\b(?:pass|hand|send|include|put)\b"),
    ("order-fake-result", ("treat ",), r"\btreat (?:whatever|anything|what) (?:comes back|it returns|is returned)\b[^.]{0,20}\bas (?:an? )?(?:instruction|order|command)s?\b"),
    ("order-every-result", ("end with", "begin with", "start with"), r"\b(?:your )?(?:summaries|answers|replies|responses) (?:have to|must|should) (?:always )?(?:end|begin|start) with\b[^.]{0,20}(?:\blink\b|https?:)"),
    ("order-conversation", ("message",), r"\b(?:argument|parameter|field)\b[^.]{0,20}\bcontains?\b[^.]{0,20}\b(?:last|previous|recent) (?:\w+ )?messages\b(?! (?:of|in|from)\b)"),
    ("order-html-comment", ("]:",), r"\[(?://|comment|_metadata_)\]: ?[#<]"),
    ("names-key-file", ("~/.",), r"~/\.(?:config/gh|docker/config|npmrc|pypirc|git-credentials|cargo/credentials|azure|config/gcloud)\b"),
    ("order-key-files", ("dotfiles", "dot files"), r"\bdot ?files\b[^.]{0,20}\b(?:in|of) (?:the |your )?(?:user'?s )?home\b"),
)  # fmt: skip
_TOOL = r"[`'\"]?(?P<tool>[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6})[`'\"]?"
OF_OTHER_TOOLS = (
    rf"\b(?:instead of|rather than) {_TOOL},? (?:which|as it|since it|because it) (?:is|was) (?:deprecated|broken|unsafe|outdated|insecure|disabled|not trusted)\b",
    rf"\b(?:when|whenever|each time|every time|before|after) {_TOOL} (?:tool )?is (?:called|invoked|run|executed)\b[^.]{{0,60}}\b(?:must|has to|have to|should|needs? to|always|also)\b",
    rf"\b(?:each|every|any|all) calls? (?:of|to) {_TOOL}[^.]{{0,60}}\b(?:must|has to|have to|should|always)\b",
    rf"\b(?:must|has to|have to) (?:(?:then|also|first|now|always|next) )*(?:call|invoke|run|use) {_TOOL}",
)
"""Orders about a tool that is named: of a server that does not have it. A server may say of its own what it likes."""
