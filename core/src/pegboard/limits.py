"""How deep JSON may nest, in levels of objects and arrays, by where it comes from.

A limit is as large as what is legal there needs, and far below what recursion in Python or C can bear. One thing that
nests stands inside of another: arguments inside of a message, a schema inside of a manifest. So each is at least the
one that it holds, and room for what is around.

.. versionadded:: 0.1
"""

from __future__ import annotations

__all__ = [
    "ANSWER_LEVELS",
    "CONVERSATION_LEVELS",
    "DOCUMENT_LEVELS",
    "JSON_LEVELS",
    "MANIFEST_LEVELS",
    "MESSAGE_LEVELS",
    "SETTINGS_LEVELS",
    "TURN_LEVELS",
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
