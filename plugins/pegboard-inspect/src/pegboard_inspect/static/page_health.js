// What doctor finds, each with its fix; the configuration in force; the plugins.

export default async function show(root, board) {
  const { h, text, table, paged } = board;
  const found = h("div", {}, h("p", { class: "quiet", role: "status" }, "Looking at plugins and tools…"));
  const { settings, files, plugins, lost } = await board.data();
  const shown = (value) => text(value === null ? "" : typeof value === "string" ? value : JSON.stringify(value), "code");
  root.replaceChildren(
    h("h1", {}, "Health"), found,
    ...Object.entries(lost).map(([plugin, cause]) => h("p", { class: "why" }, "The resources of ", text(plugin, "b"), " would not open: ", text(cause))),
    h("h2", {}, "Plugins"),
    table("Plugins", ["Plugin", "From", "Version", "State", "Import"], plugins.map((one) => [text(one.name, "b"), text(one.distribution ?? "the program"), text(one.version ?? ""), one.quarantined ? h("span", { class: "bad" }, "quarantined: ", text(one.quarantined), ". ", text(one.cure)) : "on the board", `${one.import_ms} ms`])),
    h("h2", {}, "Configuration in force"),
    files.length ? h("p", { class: "quiet" }, "Read: ", text(files.join(", "))) : h("p", { class: "quiet" }, "No file was read."),
    table("Configuration in force", ["Setting", "Value", "From"], settings.map((one) => [text(one.key, "code"), shown(one.value), text(one.origin)])),
  );
  look(); // its checks may take their time; the rest is there meanwhile

  async function look() {
    let findings;
    try {
      findings = await board.act("doctor", null);
    } catch (problem) {
      found.replaceChildren(text(problem.message, "p", { class: "why", role: "alert" }));
      return;
    }
    const order = ["error", "warning", "note"];
    findings.sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
    const bad = findings.filter((one) => one.severity !== "note").length;
    found.replaceChildren(
      h("p", { class: `status ${bad ? "bad" : "good"}`, role: "status" }, h("b", {}, bad ? `${bad} ${bad === 1 ? "thing is" : "things are"} wrong` : "Nothing is wrong")),
      ...(findings.length ? [paged(h("ul", { class: "findings", "aria-label": "Findings" }), findings, (one) => h("li", { class: one.severity }, h("b", {}, h("span", { class: "mark" }, one.severity), " ", text(one.what)), " ", text(one.where, "code"), text(one.why, "p"), h("p", {}, h("b", {}, "Fix: "), text(one.fix))))] : []),
    );
  }
}
