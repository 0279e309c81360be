// MCP servers and tools by the size of their results, of all times.
export default function draw(box, data, { el, bytes, table, empty }) {
  if (!data.length) { box.append(empty("No MCP server was called yet: plimsoll mcp -- SERVER")); return; }
  box.append(table("Tools by size", ["Server", "Tool", ">Calls", ">From the server", ">To the agent", ">Average", ">95th percentile", ">Largest", ">Kept to be paged"], data.map((t) => el("tr", {},
    el("td", {}, t.server), el("td", {}, t.tool), el("td", { class: "num" }, t.calls), el("td", { class: "num" }, bytes(t.upstream_bytes)), el("td", { class: "num" }, bytes(t.delivered_bytes)),
    el("td", { class: "num" }, bytes(t.average_bytes ?? (t.calls ? t.upstream_bytes / t.calls : 0))), el("td", { class: "num" }, bytes(t.p95_bytes)), el("td", { class: "num" }, bytes(t.max_bytes)), el("td", { class: "num" }, t.spilled)))));
}
