// Who holds memory and slots on this host, and who waits.
export default function draw(box, data, { el, bytes, clock, table, command, empty, pill }) {
  if (!data.length) { box.append(empty("Nobody holds memory, and nobody waits. A run stands here with its processes while it lives: ", command("plimsoll run -- claude"))); return; }
  box.append(table("Who holds memory", ["State", "Tool", "Project", ">Reserved", ">Used", "Since", ">Processes", "Run"], data.map((s) => el("tr", { "data-key": s.id || s.tool + s.since },
    el("td", {}, pill(s.state === "holding" ? "running" : s.state), s.position ? el("span", { class: "sub" }, "number " + s.position + " in the queue") : null, s.stale_why && el("span", { class: "sub" }, s.stale_why)),
    el("td", {}, s.tool), el("td", {}, s.user ? "user " + s.user : s.project), el("td", { class: "num" }, bytes(s.reservation_bytes)), el("td", { class: "num" }, bytes(s.current_bytes)), el("td", {}, clock(s.since)),
    el("td", { class: "num" }, s.processes?.length ?? "–"), el("td", {}, s.id ? el("a", { href: "#/run/" + s.id }, s.id) : "–")))));
  for (const s of data) {
    if (!s.processes?.length) continue;
    box.append(el("h2", {}, "Processes of " + s.tool + " in " + s.project), table("Processes of " + s.tool, [">PID", ">Parent", "Name", "State", ">Memory", ">CPU", "Note"], s.processes.slice(0, 200).map((p) => el("tr", { "data-key": p.pid },
      el("td", { class: "num" }, p.pid), el("td", { class: "num" }, p.parent), el("td", { class: "wide" }, p.name), el("td", {}, p.state), el("td", { class: "num" }, bytes(p.bytes)), el("td", { class: "num" }, p.cpu_ms >= 0 ? (p.cpu_ms / 1000).toFixed(1) + " s" : "–"), el("td", {}, p.daemon ? "daemon" : p.orphan ? "orphan" : "")))));
  }
}
