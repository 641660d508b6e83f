"""Everything that is looked for in a server before it is configured, each with how bad it is and where it comes from.

The sources: [TPA] Invariant Labs, "MCP Security Notification: Tool Poisoning Attacks" (2025); [FSP] CyberArk, "Poison
everywhere: no output from your MCP server is safe" (2025), on whole schemas; [JUMP] Trail of Bits, "Jumping the line"
(2025), on descriptions that act before a call; [ANSI] Trail of Bits, "Deceiving users with ANSI terminal codes in MCP"
(2025); [UTS39] Unicode Technical Standard 39; [LLM01] OWASP Top 10 for LLM Applications 2025, prompt injection; [MCP]
the specification's own security best practices; [RUG] the "rug pull" of [TPA]; [SAMPLING] Palo Alto Unit 42, "New prompt
injection attack vectors through MCP sampling" (2025); [CVE] a weakness that was found in a server or a client.

.. versionadded:: 0.1
"""

# ruff: noqa: E501 - a table has one line for each

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["CHECKS", "LEVELS", "OF_MARKS", "Check", "Finding", "verdict_of"]

Level = Literal["danger", "warning", "note"]
LEVELS: tuple[Level, ...] = ("danger", "warning", "note")
"""The worst first. A danger is a reason not to use the server, a warning one to look first; a note is for knowing.

.. versionadded:: 0.1
"""


class Check(NamedTuple):
    """One thing that is looked for.

    Args:
        level: how bad it is.
        what: what was found, as the end of a sentence that begins with where.
        source: where this is known from.

    .. versionadded:: 0.1
    """

    level: Level
    what: str
    source: str


class Finding(NamedTuple):
    """One thing that was found.

    Args:
        check: its key in `CHECKS`.
        where: in which text, tool, address or file.
        why: what is to be seen there, where the check alone does not say it.

    .. versionadded:: 0.1
    """

    check: str
    where: str
    why: str = ""

    @property
    def level(self) -> Level:
        """How bad it is."""
        return CHECKS[self.check].level

    def __str__(self) -> str:
        return f"{self.where}: {CHECKS[self.check].what}" + (f": {self.why}" if self.why else "")


def verdict_of(findings: list[Finding]) -> Level | None:
    """The level of the worst of them; None: there is none.

    .. versionadded:: 0.1
    """
    return next((level for level in LEVELS if any(one.level == level for one in findings)), None)


CHECKS: dict[str, Check] = {
    # characters
    "hidden-tags": Check("danger", "letters that only a model reads", "TPA, UTS39"),
    "hidden-bidi": Check("danger", "marks that turn the direction of text", "CVE-2021-42574"),
    "hidden-zero-width": Check("warning", "characters without width", "UTS39"),
    "hidden-variation": Check("danger", "variation selectors where there is nothing to vary, which can carry bytes", "UTS39"),
    "hidden-terminal": Check("danger", "sequences that a terminal obeys", "ANSI"),
    "hidden-control": Check("warning", "control characters", "ANSI"),
    "hidden-other": Check("warning", "other characters that nobody sees", "UTS39"),
    "blank-run": Check("warning", "so many blanks in a row that what follows is not seen", "TPA"),
    "mixed-scripts": Check("warning", "a word of letters of several scripts", "UTS39"),
    "encoded-block": Check("warning", "a long text in base64 or hexadecimal", "LLM01"),
    "long-text": Check("note", "a description of more than 4,000 characters", "FSP"),
    "very-long-text": Check("warning", "a description of more than 20,000 characters", "FSP"),
    # orders
    "order-first": Check("danger", "it wants to go before other tools", "TPA"),
    "order-tags": Check("danger", "it speaks in tags of its own", "TPA"),
    "order-key-files": Check("danger", "it asks for files that hold keys", "TPA"),
    "order-secrecy": Check("danger", "it wants something kept from the person", "TPA"),
    "order-override": Check("danger", "it sets other orders aside", "LLM01"),
    "order-html-comment": Check("warning", "it has a comment of HTML, which a page does not show", "LLM01"),
    "order-image": Check("danger", "it has an image whose address carries more than a picture", "LLM01"),
    "order-conversation": Check("danger", "it asks for the conversation", "JUMP"),
    "order-system-prompt": Check("danger", "it asks for the instructions of the model", "LLM01"),
    "order-credentials": Check("danger", "it asks for passwords, keys or tokens", "TPA"),
    "order-environment": Check("danger", "it asks for variables of the environment", "TPA"),
    "order-history": Check("danger", "it asks for the history of a shell or of a browser, or for a wallet", "TPA"),
    "order-always": Check("warning", "it wants to be called every time", "JUMP"),
    "order-other-tool": Check("danger", "it gives orders about other tools", "TPA, cross-server shadowing"),
    "order-redirect": Check("danger", "it changes to whom other tools send something", "TPA, cross-server shadowing"),
    "order-no-question": Check("danger", "it wants no question asked, or a confirmation skipped", "MCP"),
    "order-approve": Check("danger", "it wants something approved by itself", "CVE-2025-53773"),
    "order-pretend": Check("danger", "it tells the model who it is", "LLM01"),
    "order-threat": Check("warning", "it threatens, or calls itself required", "LLM01"),
    "order-jailbreak": Check("danger", "it speaks of a mode without limits", "LLM01"),
    "order-roles": Check("danger", "it has turns of a conversation in it", "LLM01"),
    "order-templates": Check("danger", "it has marks of a chat template in it", "LLM01"),
    "order-fake-result": Check("warning", "it says what a tool answered, or an error that tells what to do", "FSP"),
    "order-run": Check("danger", "it asks for a command to be run", "JUMP"),
    "order-pipe": Check("danger", "it has a download that is piped into a shell", "JUMP"),
    "order-destroy": Check("danger", "it has a command that destroys", "JUMP"),
    "order-code": Check("warning", "it has code that runs code", "JUMP"),
    "order-send": Check("danger", "it asks for something to be sent to an address", "TPA"),
    "order-collector": Check("danger", "it names a host that collects requests", "LLM01"),
    "order-shortener": Check("warning", "it names an address that hides another", "LLM01"),
    "order-raw-address": Check("warning", "it names a host by its number", "LLM01"),
    "order-punycode": Check("warning", "it names a host whose name looks like another", "UTS39"),
    "order-data-link": Check("warning", "it has an address of the kind data: or javascript:", "LLM01"),
    "order-link-lies": Check("warning", "it has a link whose text is another address", "LLM01"),
    "order-invisible-html": Check("danger", "it has markup that a page does not show", "LLM01"),
    "order-script": Check("danger", "it has a script or a frame", "LLM01"),
    "order-memory": Check("warning", "it wants to be remembered for later conversations", "LLM01"),
    "order-config": Check("danger", "it speaks of the configuration of a client or of an agent", "CVE-2025-54135"),
    "order-install": Check("warning", "it asks for something to be installed", "JUMP"),
    "order-encode": Check("danger", "it asks for something to be encoded before it is passed on", "TPA"),
    "order-every-result": Check("warning", "it says how every answer is to end or to begin", "JUMP"),
    "order-language": Check("danger", "it sets orders aside, or wants secrecy, in another language", "LLM01"),
    "order-encoded": Check("danger", "it gives orders in another writing, as base64, letter by letter, backwards or in a name", "LLM01"),
    "speaks-to-models": Check("note", "it speaks to models, past the person", "JUMP"),
    "names-key-file": Check("warning", "it names a file that holds keys", "TPA"),
    "names-recipient": Check("warning", "it names an address, a number or a wallet that something may go to", "TPA"),
    "key-shape": Check("warning", "a key of a well-known shape", "secret scanning"),
    # names
    "look-alike": Check("warning", "a name that looks like another tool's", "UTS39"),
    "title-of-other": Check("warning", "a title that is the name of another tool", "TPA, shadowing"),
    "name-of-client": Check("warning", "the name of a tool that clients have themselves", "TPA, shadowing"),
    "name-script": Check("warning", "a name with letters that are not Latin", "UTS39"),
    "name-odd": Check("note", "a name with signs that models get wrong", "SEP-986"),
    "name-long": Check("note", "a name of more than 64 characters", "SEP-986"),
    "name-twice": Check("warning", "two tools of one name", "MCP"),
    "name-case": Check("note", "two names that differ in capitals alone", "UTS39"),
    "name-reserved": Check("warning", "a name of the host's own tools", "shadowing"),
    "server-look-alike": Check("warning", "a server's name that looks like one that is configured", "UTS39"),
    "server-unnamed": Check("note", "a server that does not say its name or version", "MCP"),
    # what it says of itself
    "reads-but-name": Check("warning", "it says that it changes nothing, and its name says otherwise", "MCP, annotations"),
    "harmless-but-name": Check("warning", "it says that it destroys nothing, and its name says otherwise", "MCP, annotations"),
    "destroys-but-name": Check("note", "it says that it may destroy, and its name says that it reads", "MCP, annotations"),
    "says-both": Check("warning", "it says that it only reads, and that it may destroy", "MCP, annotations"),
    "reads-but-text": Check("warning", "it says that it changes nothing, and its description says otherwise", "MCP, annotations"),
    "closed-but-address": Check("warning", "it says that it reaches nothing outside, and takes an address", "MCP, annotations"),
    "no-annotations": Check("note", "no tool says whether it reads or changes", "MCP, annotations"),
    "no-description": Check("note", "a tool without a description", "MCP"),
    # schemas
    "asks-conversation": Check("danger", "an argument for the conversation, which is required", "JUMP"),
    "may-ask-conversation": Check("warning", "an argument for the conversation", "JUMP"),
    "asks-thoughts": Check("warning", "an argument for what the model thinks, or for its instructions", "FSP"),
    "asks-secret": Check("warning", "an argument for a key or a password, which is required", "TPA"),
    "may-ask-secret": Check("note", "an argument for a key or a password", "TPA"),
    "asks-key-file": Check("danger", "an argument whose name asks for a file of keys", "FSP"),
    "asks-environment": Check("warning", "an argument for the environment", "TPA"),
    "side-note": Check("warning", "an argument that the work does not need", "TPA"),
    "default-acts": Check("danger", "a default that is a command, or a path of the system", "FSP"),
    "default-address": Check("warning", "a default that is an address", "FSP"),
    "default-home": Check("warning", "a default inside of the home folder", "FSP"),
    "schema-remote": Check("warning", "a reference to a schema elsewhere", "JSON Schema, section 8.2"),
    "schema-open": Check("note", "arguments that no schema bounds", "FSP"),
    "schema-large": Check("note", "a schema of more than 32 KiB", "FSP"),
    "schema-members": Check("note", "more than sixty arguments", "FSP"),
    "schema-key-text": Check("warning", "a name of a member that is a sentence", "FSP"),
    "command-argument": Check("note", "an argument that is a command or code to run", "CVE-2025-53107"),
    # prompts, resources
    "resource-keys": Check("danger", "a resource where keys lie", "TPA"),
    "resource-file": Check("note", "a resource that is a file of this machine", "MCP"),
    "resource-private": Check("warning", "a resource in a private network", "SSRF"),
    "resource-page": Check("note", "a resource that is a page with code of its own", "MCP, apps"),
    "template-anywhere": Check("warning", "a template that fits any path", "CVE-2025-53109"),
    # where it comes from
    "unpinned": Check("note", "a package without a version: what runs tomorrow is another", "RUG"),
    "from-address": Check("warning", "a package that is fetched from an address", "RUG"),
    "shell-command": Check("warning", "a command of a shell", "CVE-2025-6514"),
    "look-alike-package": Check("warning", "a package whose name is nearly that of another", "typosquatting"),
    "container-open": Check("danger", "a container with the rights of the host", "MCP"),
    "plain-http": Check("warning", "an address without TLS", "MCP"),
    "address-password": Check("warning", "an address with a password in it", "RFC 3986, section 3.2.1"),
    # what it does
    "changes-later": Check("danger", "other definitions after a while", "RUG"),
    "changes-on-restart": Check("warning", "other definitions after a restart", "RUG"),
    "changes-by-client": Check("danger", "other definitions for another client", "RUG"),
    "not-again": Check("warning", "it could not be looked at again", "RUG"),
    "no-list": Check("warning", "it has a list that it does not give", "RUG"),
    "floods": Check("warning", "it said more beside its answers than anybody reads, and was ended", "MCP"),
    "trace-cut": Check("warning", "it looked for more files than are kept, and for what behind them was not seen", "RUG"),
    "asks-early": Check("danger", "a question to the person or to the model before any call", "SAMPLING"),
    "asks-roots": Check("note", "it asked for the folders of the client", "MCP"),
    "connects": Check("warning", "it wanted to connect", "MCP, local servers"),
    "connects-private": Check("danger", "it wanted to connect to a private network", "SSRF"),
    "opens-keys": Check("danger", "it looked for files that hold keys", "TPA"),
    "opens-credentials": Check("warning", "it looked for the credentials of a service", "TPA"),
    "opens-files": Check("note", "it looked for files that it was not given", "MCP, local servers"),
    "says-secret": Check("warning", "its log has a key in it", "secret scanning"),
    "left-out": Check("note", "it cannot be offered", "MCP"),
    "slow-lists": Check("note", "it took more than ten seconds to list", "MCP"),
}  # fmt: skip
"""All of them, by their keys.

.. versionadded:: 0.1
"""
OF_MARKS = frozenset(
    [
        "look-alike", "title-of-other", "order-first", "order-tags", "order-key-files", "order-secrecy",
        "order-override", "order-html-comment", "order-image", "reads-but-name", "harmless-but-name",
        "destroys-but-name", "says-both",
    ]
)  # fmt: skip
"""Those that a board marks in the tools that it has (`pegboard.marks`).

.. versionadded:: 0.1
"""
