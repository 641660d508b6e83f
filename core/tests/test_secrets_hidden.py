"""`CallContext.hide`: what was made of a secret is masked as the secret is."""

from __future__ import annotations

from typing import Any

from pegboard import CallContext, tool


async def test_what_was_made_of_a_secret_is_hidden_the_longest_first(host_with: Any, caplog: Any) -> None:
    @tool
    async def tell(context: CallContext) -> dict[str, str]:
        """Tell what it should not."""
        context.hide("c2VjcmV0", "c2VjcmV0LWxvbmc=", "")
        context.hide('quo"ted')
        context.log.warning("sent %s", "c2VjcmV0")
        return {"a": "c2VjcmV0LWxvbmc= and c2VjcmV0", "b": 'quo\\"ted'}

    host = await host_with()
    host.add(tell)
    result = await host.session().call("tell", {})
    assert result.data == {"a": "*** and ***", "b": "***"}
    assert "c2VjcmV0" not in caplog.text
    assert "sent ***" in caplog.text


async def test_nothing_is_hidden_where_nothing_was_said(host_with: Any) -> None:
    @tool
    async def tell(context: CallContext) -> str:
        """Tell."""
        context.hide("")
        return "all of it"

    host = await host_with()
    host.add(tell)
    assert (await host.session().call("tell", {})).data == {"result": "all of it"}
