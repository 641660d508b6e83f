// What brings tools that come and go, and how it does.

export default async function show(root, board) {
  const { h, text } = board;
  const head = h("h1", {}, "Sources");
  const body = h("div");
  const said = h("p", { class: "problem", role: "alert", hidden: true });
  root.append(head, said, body);

  const ago = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`);

  function card(one, held) {
    const off = one.state !== "ready" && one.state !== "known";
    return h("section", { class: "card" },
      h("h2", {}, text(one.source), " ", h("span", { class: `mark ${off ? "warn" : ""}` }, one.state)),
      h("p", { class: "quiet" }, `${one.kind}, for ${ago(one.since_s)}: ${one.meaning}`),
      one.reason && text(one.reason, "p", { class: "why" }),
      held.length ? [h("h3", {}, "Held back until somebody accepts it"), h("ul", {}, held.map((tool) => h("li", {}, text(tool.name, "b"), ": ", text(tool.why), ". ", text(tool.fix, "span", { class: "quiet" }))))] : null,
      one.names.length ? h("details", {}, h("summary", {}, `${one.names.length} ${one.names.length === 1 ? "tool" : "tools"}`), h("ul", { class: "names" }, one.names.map((name) => h("li", {}, h("a", { href: `#/tool/${encodeURIComponent(name)}` }, text(name)))))) : h("p", { class: "quiet" }, "No tool of it is on the board."),
      h("div", { class: "actions" }, h("button", { type: "button", onclick: (event) => restart(event.target, one.source) }, "Restart")));
  }

  async function restart(button, source) {
    if (!confirm(`Restart ${source}? Calls that wait for it fail.`)) return;
    button.disabled = true;
    said.hidden = true;
    try {
      await board.act("restart", source);
    } catch (problem) {
      said.hidden = false;
      said.textContent = problem.message;
    }
    await draw();
  }

  async function draw() {
    const { sources, held } = await board.data();
    const cards = sources.map((one) => card(one, held.filter((tool) => tool.source === one.source)));
    body.replaceChildren(...(cards.length ? cards : [h("p", { class: "empty" }, "No source of tools is configured; an MCP server is one: [plugins.mcp.servers.NAME]")]));
  }
  await draw();
}
