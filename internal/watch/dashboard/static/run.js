// One run: what became of it and what to do next, its timelines, what was cut, what was large, what was killed.
import charts from "./charts.js";
import processes from "./processes.js";

export default function runPage(main, state, tools, id) {
  const { el, fill, still, bytes, tokens, duration, clock, pill, command, table, facts, empty, get, spentGauges } = tools;
  const box = el("div", { class: "charts" }), drawing = charts(box);
  let seen = "", busy = false, gone = false;
  const open = new Map(); // words that were asked for, by checkpoint
  document.title = "Run · Plimsoll";
  main.replaceChildren(empty("…"));

  function estimateWords(e) {
  const runs = e.samples + (e.samples === 1 ? " run" : " runs");
  switch (e.guessed ? "" : e.source) {
    case "history:project": return "from " + runs + " in this project";
    case "history:tool": return "from " + runs + " in other projects";
    case "history:import": return "from " + runs + " on other hosts, imported";
    case "history:fleet": return "from " + runs + " on other hosts of the fleet";
    case "reservation": return "as reserved by hand";
    case "configured": return "as configured";
  }
  return "a first guess";
}

function windowWords(r) { // of an agent of Plimsoll's own the requests go through no proxy
    const w = r.window?.requests ? r.window : { requests: r.agent_requests, peak_tokens: r.agent_peak_tokens, limit_tokens: r.agent_limit_tokens };
    return w.requests && tokens(w.peak_tokens) + " tokens peak" + (w.limit_tokens ? " of " + tokens(w.limit_tokens) : "") + ", " + w.requests + " requests" + (r.model ? " of " + r.model : "");
  }

  function memoryChart(r) {
    if (!r.samples?.length) return;
    const t0 = new Date(r.started) / 1000, limit = r.limit_bytes || null;
    const points = [...r.samples];
    if (!r.ended) points.push({ ...points[points.length - 1], at_ms: Date.now() - t0 * 1000 });
    const killed = (r.kills ?? []).map((k) => ({ t: new Date(k.time) / 1000, killed: k.bytes || limit || r.peak_bytes }));
    const all = [...points.map((s) => ({ t: t0 + s.at_ms / 1000, charged: s.charged_bytes || s.working_bytes, working: s.working_bytes })), ...killed].sort((a, b) => a.t - b.t);
    drawing.draw("Memory", all.map((p) => p.t), [
      { label: "charged", colour: "--bar", fill: true, values: all.map((p) => p.charged) },
      { label: "working set", colour: "--ok", width: 1, values: all.map((p) => p.working) },
      ...(limit ? [{ label: "limit", colour: "--bar-full", dash: [6, 4], width: 1, values: all.map(() => limit) }] : []),
      ...(killed.length ? [{ label: "killed", colour: "--bar-full", points: true, values: all.map((p) => p.killed ?? null) }] : []),
    ], bytes);
  }

  function windowChart(r) {
    if (!r.context?.length) return;
    const cuts = (r.compactions ?? []).map((c) => new Date(c.time) / 1000);
    const all = [...r.context.map((c) => ({ t: new Date(c.time) / 1000, tokens: c.tokens, limit: c.limit })), ...(r.compactions ?? []).map((c) => ({ t: new Date(c.time) / 1000, cut: c.before_tokens }))].sort((a, b) => a.t - b.t);
    drawing.draw("Context window", all.map((p) => p.t), [
      { label: "tokens", colour: "--bar", fill: true, values: all.map((p) => p.tokens ?? undefined) },
      { label: "limit", colour: "--bar-full", dash: [6, 4], width: 1, values: all.map((p) => p.limit || undefined) },
      ...(cuts.length ? [{ label: "shortened at", colour: "--bar-high", points: true, values: all.map((p) => p.cut ?? null) }] : []),
    ], tokens);
  }

  // How a result came to the agent. Its handle stands in the conversation only.
  function how(t) {
    const parts = [];
    if (t.failed) parts.push("an error");
    if (t.reused) parts.push("answered from what is kept");
    if (t.spilled) parts.push("a page of " + (t.items ? t.items + " items" : "it") + "; the agent reads on with result_page, result_search and result_query");
    if (t.cut) parts.push("it broke off, what came can be read");
    return parts.join("; ") || "whole";
  }

  let drawn; // the newest state that was drawn
  async function words(checkpoint) {
    if (open.delete(checkpoint)) { draw(drawn); return; }
    let text = "…";
    open.set(checkpoint, text);
    draw(drawn);
    try {
      const cut = await get("api/cut/" + encodeURIComponent(checkpoint));
      text = cut.text + (cut.incomplete ? "\n… the end was too large to be kept" : "");
    } catch (e) { text = e.message; }
    if (text.length > 200000) text = text.slice(0, 200000) + "\n… plimsoll runs --cuts " + checkpoint + " has all";
    if (gone || !open.has(checkpoint)) return;
    open.set(checkpoint, text);
    draw(drawn);
  }

  function draw(r) {
    drawn = r;
    document.title = r.tool + " in " + r.project + " · Plimsoll";
    const report = r.report ?? {}, a = r.admission;
    const parts = [el("h1", {}, pill(r.state || r.outcome), " ", r.tool, r.variant ? " " + r.variant : "", " in ", r.project)];
    if (r.verdict) parts.push(el("div", { class: "card verdict" }, el("p", { class: "said" }, r.verdict),
      (r.next ?? []).map((text) => el("p", {}, "Next: " + text)), r.help && el("p", {}, command(r.help))));
    if (r.error) parts.push(empty(r.error));
    for (const w of report.warnings ?? []) parts.push(el("div", { class: "alert" }, w));
    parts.push(el("h2", {}, "Timeline"), box);
    parts.push(el("h2", {}, "Figures"), el("div", { class: "card" }, facts([
      ["Run", el("code", {}, r.id)],
      ["Started", clock(r.started) + (r.ended ? ", ended " + clock(r.ended) : "") + ", " + duration(r.ended ? r.duration_ms : Date.now() - new Date(r.started))],
      ["Command", report.command?.length && el("code", {}, report.command.join(" "))],
      ["Held by", report.layer && report.layer + ": memory " + report.enforcement.memory + ", swap " + report.enforcement.swap + ", processes " + report.enforcement.pids],
      ["Admitted", a && (a.nested ? "inside another run" : bytes(a.reservation_bytes) + " reserved" + (a.available_bytes ? "; the host had " + bytes(a.available_bytes) + ", others had claimed " + bytes(a.claimed_bytes ?? 0) + ", " + bytes(a.min_free_bytes) + " stays free" : ""))],
      ["Refused", r.refusal],
      ["Expected", report.estimate?.bytes && bytes(report.estimate.bytes) + ", " + estimateWords(report.estimate)],
      ["Memory", r.peak_bytes && bytes(r.peak_bytes) + " peak" + (r.limit_bytes ? " of " + bytes(r.limit_bytes) : "")],
      ["At its highest", processes.highest(r, bytes)],
      ["Window", windowWords(r)],
      ["Spent", (r.spent || r.cost > 0) && el("span", { class: "meters" }, spentGauges(r, " of this run"))],
      ["Tools", r.mcp?.calls && r.mcp.calls + " calls, " + bytes(r.mcp.upstream_bytes) + " became " + bytes(r.mcp.delivered_bytes)],
      ["Missing", (r.dropped || r.damaged) && (r.dropped ?? 0) + " lines found no room, " + (r.damaged ?? 0) + " cannot be read"],
    ])));
    if (r.kills?.length) parts.push(el("h2", {}, "Killed"), table("Killed processes", ["When", "Process", ">Size", "By", "Why"], r.kills.map((k) => el("tr", {},
      el("td", {}, clock(k.time)), el("td", {}, k.name + (k.pid ? " (pid " + k.pid + ")" : "")), el("td", { class: "num" }, k.bytes ? bytes(k.bytes) : "–"), el("td", {}, k.by), el("td", { class: "wide" }, k.what ?? "")))));
    if (r.compactions?.length) {
      parts.push(el("h2", {}, "The conversation was shortened"), table("Where the conversation was shortened", ["When", "Tokens", ">Cut", "How", "Why", "The words"], r.compactions.map((c) => {
        const shown = c.checkpoint && open.has(c.checkpoint);
        const button = c.checkpoint && el("button", { "aria-expanded": shown ? "true" : "false", onclick: () => words(c.checkpoint) }, "what was cut");
        const text = shown && el("pre", { tabindex: "0", role: "region", "aria-label": "What was cut" }, open.get(c.checkpoint));
        return el("tr", {}, el("td", {}, clock(c.time)), el("td", {}, tokens(c.before_tokens) + " → " + tokens(c.after_tokens)), el("td", { class: "num" }, bytes(c.cut_bytes)), el("td", {}, (c.rungs ?? []).join(", ")), el("td", {}, c.boundary ? c.reason + ": " + c.boundary : c.reason), el("td", { class: "wide" }, button || "not kept", text));
      })));
    }
    if (r.tools?.length) parts.push(el("h2", {}, "Results of tools"), el("p", { class: "sub" }, "What was too large is kept for a day, and the agent reads the rest of it page by page."),
      table("Results of tools", ["Server", "Tool", ">Calls", ">From the server", ">To the agent", ">Largest", ">Kept to be paged"], r.tools.map((t) => el("tr", {},
        el("td", {}, t.server), el("td", {}, t.tool), el("td", { class: "num" }, t.calls), el("td", { class: "num" }, bytes(t.upstream_bytes)), el("td", { class: "num" }, bytes(t.delivered_bytes)), el("td", { class: "num" }, t.max_bytes ? bytes(t.max_bytes) : "–"), el("td", { class: "num" }, t.spilled)))));
    if (r.largest?.length) parts.push(el("h2", {}, "Largest results"),
      table("Largest results", ["When", "Server", "Tool", ">From the server", ">To the agent", "How"], r.largest.map((t) => el("tr", {},
        el("td", {}, clock(t.time)), el("td", {}, t.server), el("td", {}, t.tool || t.method), el("td", { class: "num" }, bytes(t.upstream_bytes)), el("td", { class: "num" }, bytes(t.delivered_bytes)), el("td", { class: "wide" }, how(t))))));
    const happened = (list) => el("ol", { class: "events" }, list.map((e) => el("li", { "data-key": e.seq },
      el("time", {}, clock(e.time)), el("span", {}, e.text), el("details", {}, el("summary", { "aria-label": "JSON of " + e.kind }, "JSON"), el("code", {}, e.kind + " " + JSON.stringify(e.event))))));
    if (r.events?.length) parts.push(el("h2", {}, "What happened last"), happened(r.events.slice(0, 20)),
      r.events.length > 20 && el("details", { class: "earlier", "data-key": "earlier" }, el("summary", {}, r.events.length - 20 + " earlier"), happened(r.events.slice(20))));
    fill(main, parts);
    memoryChart(r);
    processes.chart(drawing, r, bytes);
    windowChart(r);
    box.querySelector(".empty")?.remove();
    if (!drawing.count()) box.append(empty("Nothing was measured yet. The memory of a run is drawn from its first second on, its window from its first request to a model."));
  }

  async function load() {
    if (busy) return;
    busy = true;
    try {
      const r = await get("api/run/" + encodeURIComponent(id));
      still("run", () => gone || draw(r));
    } catch (e) {
      if (!gone) fill(main, empty(e.message));
    }
    busy = false;
  }

  function update(s) { // when its row changes
    const now = JSON.stringify(s.rows.get(id) ?? null);
    if (now !== seen) { seen = now; load(); }
  }
  seen = JSON.stringify(state.rows.get(id) ?? null);
  load();
  return { update, leave: () => { gone = true; drawing.leave(); } };
}
