"""How deep things may nest, in levels, by what they are: the one table of such bounds. And how long, in bytes, what is
read in more than one place may be; what is read in one place alone has its bound there.

JSON is counted in levels of objects and arrays. A limit is as large as what is legal there needs, and far below what
recursion in Python or C can bear. One thing that nests stands inside of another: arguments inside of a message, a
schema inside of a manifest. So each is at least the one that it holds, and room for what is around.

Bytes are counted as a whole, what is around included: a reader stops there, whatever it holds so far.

.. versionadded:: 0.1
"""

from __future__ import annotations

__all__ = [
    "ALTERNATIVE_LEVELS",
    "ANSWER_LEVELS",
    "BOARD_LEVELS",
    "CALL_LEVELS",
    "CONFIG_LEVELS",
    "CONVERSATION_LEVELS",
    "DIGESTED_BYTES",
    "DOCUMENT_LEVELS",
    "ENCODED_LEVELS",
    "ERROR_LEVELS",
    "EXPRESSION_LEVELS",
    "FOLDER_LEVELS",
    "FOLLOWED_LEVELS",
    "HELP_LEVELS",
    "JSON_BYTES",
    "JSON_LEVELS",
    "LEAST_BODY_BYTES",
    "LONG_TEXT",
    "MANIFEST_LEVELS",
    "MEMBER_LEVELS",
    "MESSAGE_LEVELS",
    "MOST_BODY_BYTES",
    "PATTERN_LEVELS",
    "PLAIN_LEVELS",
    "PORTABLE_LEVELS",
    "REQUEST_BYTES",
    "RETURNED_LEVELS",
    "SAMPLE_LEVELS",
    "SCHEMA_LEVELS",
    "SETTINGS_BYTES",
    "SETTINGS_LEVELS",
    "SOURCE_LEVELS",
    "SUBCOMMAND_LEVELS",
    "TURN_LEVELS",
    "TYPE_LEVELS",
    "USAGE_LEVELS",
    "WRAPPER_LEVELS",
]

JSON_LEVELS = 64
"""Arguments, results and schemas: nobody writes deeper ones, and what walks them takes some frames for each level.

.. versionadded:: 0.1
"""

MESSAGE_LEVELS = JSON_LEVELS + 8
"""A message between programs: arguments or a result, and the levels of the envelope around.

.. versionadded:: 0.1
"""

MANIFEST_LEVELS = JSON_LEVELS + 32
"""A file of tools: a schema, which stands some levels below the document, and what a schema gains when it is split.

.. versionadded:: 0.1
"""

SETTINGS_LEVELS = 100
"""A settings file of another program, of which only some keys are ours: deeper than any that is known.

.. versionadded:: 0.1
"""

TURN_LEVELS = 150
"""One turn of a conversation, and the arguments of a call in it, as a model's provider gave them.

.. versionadded:: 0.1
"""

CONVERSATION_LEVELS = 200
"""A saved conversation: its turns, and what is around them.

.. versionadded:: 0.1
"""

DOCUMENT_LEVELS = 200
"""A document that a generator wrote, such as OpenAPI's, whose schemas are written out within each other.

.. versionadded:: 0.1
"""

ANSWER_LEVELS = 256
"""The answer of a model's provider, which this project does not shape; the arguments in it have their own bound.

.. versionadded:: 0.1
"""

SCHEMA_LEVELS = 30
"""A schema in whose parts definitions are put in the place of references, and one that is read for what it says: less
than half of what JSON may have, for what is put in nests too.

.. versionadded:: 0.1
"""

PORTABLE_LEVELS = 40
"""A schema as it is written for a model's provider: what writes it recurses, and what is deeper is widened.

.. versionadded:: 0.1
"""

PLAIN_LEVELS = 10
"""A schema for which the short way of checking is tried: hardly any tool has a deeper one.

.. versionadded:: 0.1
"""

ALTERNATIVE_LEVELS = 3
"""Alternatives within alternatives that a message names: more of them no reader follows.

.. versionadded:: 0.1
"""

SAMPLE_LEVELS = 12
"""An example that is made up from a schema: a person would not read a deeper one.

.. versionadded:: 0.1
"""

MEMBER_LEVELS = 8
"""Members of a schema that are compared with those of its last version; a deeper change is told of the member above.

.. versionadded:: 0.1
"""

RETURNED_LEVELS = 40
"""What a Python function returned, which may hold itself: less than a result, which it becomes a part of.

.. versionadded:: 0.1
"""

ERROR_LEVELS = 4
"""The JSON of an error, in which the words are looked for: those that are known have them on the second or third.

.. versionadded:: 0.1
"""

ENCODED_LEVELS = 2
"""Text in another form, in which text in another form lies, as base64 within percent signs: people and models write no
more, and each form is looked for in all that the others gave.

.. versionadded:: 0.1
"""

CONFIG_LEVELS = 32
"""Our own configuration: people write it by hand, and only settings of plugins hold JSON of their own.

.. versionadded:: 0.1
"""

CALL_LEVELS = 16
"""Calls of tools by tools: one that calls itself ends here, and not at Python's limit of recursion.

.. versionadded:: 0.1
"""

BOARD_LEVELS = 3
"""Boards that start boards: one that is in its own list of servers would start processes without an end.

.. versionadded:: 0.1
"""

WRAPPER_LEVELS = 4
"""Commands in front of a command, as in `nice env ls`.

.. versionadded:: 0.1
"""

EXPRESSION_LEVELS = 64
"""Brackets in a calculation: its parser takes some frames for each.

.. versionadded:: 0.1
"""

PATTERN_LEVELS = 30
"""Groups in a regular expression: what reads it takes some frames for each.

.. versionadded:: 0.1
"""

FOLDER_LEVELS = 64
"""Folders that are walked through for a tool: each is held open while those in it are looked at.

.. versionadded:: 0.1
"""

SOURCE_LEVELS = 12
"""Folders of a package whose code is read.

.. versionadded:: 0.1
"""

TYPE_LEVELS = 16
"""A type annotation, with the classes that it names.

.. versionadded:: 0.1
"""

FOLLOWED_LEVELS = 12
"""Functions that are followed, one into the other, for what they reach.

.. versionadded:: 0.1
"""

SUBCOMMAND_LEVELS = 8
"""Commands within commands of a program that says its tree itself.

.. versionadded:: 0.1
"""

HELP_LEVELS = 5
"""Commands within commands of a program that is started once for the help of each.

.. versionadded:: 0.1
"""

USAGE_LEVELS = 8
"""Brackets within brackets in a line of usage.

.. versionadded:: 0.1
"""

LONG_TEXT = 100_000
"""Characters of texts that are looked through in the loop: more take ten milliseconds and up to a hundred, and go to a
thread.

.. versionadded:: 0.1
"""

JSON_BYTES = 16 * 1024 * 1024
"""A text of JSON, whoever wrote it: arguments, a message, what a server lists, a form with a file in it as base64. Far
more than a model reads, and little enough that any host can hold what it becomes in memory, which is several times it.

.. versionadded:: 0.1
"""

REQUEST_BYTES = 4 * 1024 * 1024
"""A request to a server that is open to others, where its settings say nothing: one for each of many clients is held at
once, so it is less than what a host reads of its own accord.

.. versionadded:: 0.1
"""

LEAST_BODY_BYTES = 1024
"""The least that a setting may allow for one message or body: any shorter, and no error could be told in it.

.. versionadded:: 0.1
"""

MOST_BODY_BYTES = 1024**3
"""The most that a setting may allow for one message or body: any longer is a slip of who wrote the number.

.. versionadded:: 0.1
"""

SETTINGS_BYTES = JSON_BYTES
"""A settings file of another program: Claude Code keeps its servers in the file of its whole history.

.. versionadded:: 0.1
"""

DIGESTED_BYTES = 16 * 1024 * 1024
"""What is read of a file to know it again by its content: longer than a configuration, since lists of accepted tools
are known so too, and hashed in some hundredths of a second.

.. versionadded:: 0.1
"""
