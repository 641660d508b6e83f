"""Lists of models that come in pages, as Cohere's and Google's do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from pegboard_chat.wire.faults import Place
    from pegboard_chat.wire.transport import Transport

MAX_PAGES = 20


async def list_entries(
    transport: Transport, url: str, place: Place, *, parameter: str, following: str
) -> list[dict[str, Any]]:
    """The entries under `models` of all pages; what is not a list has none.

    Args:
        transport: what carries the requests.
        url: of the first page, with a query.
        place: whose headers go along, and whom errors name.
        parameter: of the address, which asks for another page, as in `pageToken`.
        following: the member that says which comes next, as in `nextPageToken`.

    Raises:
        ModelError: anything but an answer.

    .. versionadded:: 0.1
    """
    entries: list[dict[str, Any]] = []
    page: Any = ""
    for _ in range(MAX_PAGES):
        answer = await transport.get(f"{url}&{parameter}={quote(page, safe='')}" if page else url, place)
        if not isinstance(answer, dict):
            break
        listed, page = answer.get("models"), answer.get(following)
        entries += [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if not isinstance(page, str) or not page:
            break
    return entries
