// One run: its timelines, what was cut, what was large, what was killed.
export default function runPage(main, state, tools, id) {
  const { el, bytes, tokens, duration, clock, pill, table, facts, empty, get } = tools;
  let charts = [], seen = "", busy = false, gone = false;
  const open = new Map(); // words that were asked for, by checkpoint
  document.title = "Run · Plimsoll";
  main.replaceChildren(empty("…"));

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function windowWords(r) { // of an agent of Plimsoll's own the requests go through no proxy
    const w = r.window?.requests ? r.window : { requests: r.agent_requests, peak_tokens: r.agent_peak_tokens, limit_tokens: r.agent_limit_tokens };
    return w.requests && tokens(w.peak_tokens) + " tokens peak" + (w.limit_tokens ? " of " + tokens(w.limit_tokens) : "") + ", " + w.requests + " requests" + (r.model ? " of " + r.model : "");
  }

  const binary = Array.from({ length: 50 }, (_, n) => 2 ** n); // steps of an axis with sizes

  function chart(box, title, times, series, format) {
    const holder = el("div");
    box.append(el("div", { class: "card chart" }, el("h3", {}, title), holder));
    const axis = { stroke: css("--soft"), grid: { stroke: css("--line") }, ticks: { stroke: css("--line") } };
    const u = new window.uPlot({
      width: Math.max(200, holder.clientWidth || 420), height: 190, cursor: { y: false },
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(high * 1.05, 1)] } },
      axes: [axis, { ...axis, size: 78, values: (_, list) => list.map(format), ...(format === bytes && { incrs: binary }) }],
      series: [{}, ...series.map((s) => ({ label: s.label, stroke: css(s.colour), width: s.width ?? 2, dash: s.dash, fill: s.fill ? css(s.colour) + "22" : undefined, points: { show: s.points ?? false, size: 7 }, paths: s.points ? () => null : undefined, value: (_, v) => v == null ? "–" : format(v) }))],
    }, [times, ...series.map((s) => s.values)], holder);
    charts.push({ u, holder });
  }

  function memoryChart(box, r) {
    if (!r.samples?.length) return;
    const t0 = new Date(r.started) / 1000, limit = r.limit_bytes || null;
    const points = [...r.samples];
    if (!r.ended) points.push({ ...points[points.length - 1], at_ms: Date.now() - t0 * 1000 });
    chart(box, "Memory", points.map((s) => t0 + s.at_ms / 1000), [
      { label: "charged", colour: "--bar", fill: true, values: points.map((s) => s.charged_bytes || s.working_bytes) },
      { label: "working set", colour: "--ok", width: 1, values: points.map((s) => s.working_bytes) },
      ...(limit ? [{ label: "limit", colour: "--bar-full", dash: [6, 4], width: 1, values: points.map(() => limit) }] : []),
    ], bytes);
  }

  function windowChart(box, r) {
    if (!r.context?.length) return;
    const cuts = (r.compactions ?? []).map((c) => new Date(c.time) / 1000);
    const all = [...r.context.map((c) => ({ t: new Date(c.time) / 1000, tokens: c.tokens, limit: c.limit })), ...(r.compactions ?? []).map((c) => ({ t: new Date(c.time) / 1000, cut: c.before_tokens }))].sort((a, b) => a.t - b.t);
    chart(box, "Context window", all.map((p) => p.t), [
      { label: "tokens", colour: "--bar", fill: true, values: all.map((p) => p.tokens ?? undefined) },
      { label: "limit", colour: "--bar-full", dash: [6, 4], width: 1, values: all.map((p) => p.limit || undefined) },
      ...(cuts.length ? [{ label: "room made at", colour: "--bar-high", points: true, values: all.map((p) => p.cut ?? null) }] : []),
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

  async function words(checkpoint, box, button) {
    if (open.has(checkpoint)) { open.delete(checkpoint); box.replaceChildren(); button.setAttribute("aria-expanded", "false"); return; }
    button.setAttribute("aria-expanded", "true");
    box.replaceChildren("…");
    let text;
    try {
      const cut = await get("api/cut/" + encodeURIComponent(checkpoint));
      text = cut.text + (cut.incomplete ? "\n… the end was too large to be kept" : "");
    } catch (e) { text = e.message; }
    open.set(checkpoint, text);
    box.replaceChildren(el("pre", { tabindex: "0", "aria-label": "What was cut" }, text.length > 200000 ? text.slice(0, 200000) + "\n… plimsoll runs --cuts " + checkpoint + " has all" : text));
  }

  function draw(r) {
    for (const c of charts) c.u.destroy();
    charts = [];
    document.title = r.tool + " in " + r.project + " · Plimsoll";
    const report = r.report ?? {}, a = r.admission;
    const box = el("div", { class: "charts" });
    const parts = [el("h1", {}, pill(r.outcome), " ", r.tool, r.variant ? " " + r.variant : "", " in ", r.project)];
    if (r.reason) parts.push(el("p", {}, r.reason));
    if (r.error) parts.push(empty(r.error));
    parts.push(el("div", { class: "card" }, facts([
      ["Run", el("code", {}, r.id)],
      ["Started", clock(r.started) + (r.ended ? ", ended " + clock(r.ended) : "") + ", " + duration(r.ended ? r.duration_ms : Date.now() - new Date(r.started))],
      ["Command", report.command?.length && el("code", {}, report.command.join(" "))],
      ["Held by", report.layer && report.layer + ": memory " + report.enforcement.memory + ", swap " + report.enforcement.swap + ", processes " + report.enforcement.pids],
      ["Admitted", a && (a.nested ? "inside another run" : bytes(a.reservation_bytes) + " reserved" + (a.available_bytes ? "; the host had " + bytes(a.available_bytes) + ", others had claimed " + bytes(a.claimed_bytes ?? 0) + ", " + bytes(a.min_free_bytes) + " stays free" : ""))],
      ["Refused", r.refusal],
      ["Expected", report.estimate?.bytes && bytes(report.estimate.bytes) + " from " + report.estimate.source + " (" + report.estimate.samples + " runs)"],
      ["Memory", r.peak_bytes && bytes(r.peak_bytes) + " peak" + (r.limit_bytes ? " of " + bytes(r.limit_bytes) : "")],
      ["Window", windowWords(r)],
      ["Cost", r.cost !== undefined && r.cost.toPrecision(4) + ", by the prices of your configuration"],
      ["Tools", r.mcp?.calls && r.mcp.calls + " calls, " + bytes(r.mcp.upstream_bytes) + " became " + bytes(r.mcp.delivered_bytes)],
      ["Missing", (r.dropped || r.damaged) && (r.dropped ?? 0) + " lines found no room, " + (r.damaged ?? 0) + " cannot be read"],
    ])));
    for (const w of report.warnings ?? []) parts.push(el("div", { class: "alert" }, w));
    parts.push(el("h2", {}, "Timeline"), box);
    if (r.kills?.length) parts.push(el("h2", {}, "Killed"), table("Killed processes", ["When", "Process", ">Size", "By", "Why"], r.kills.map((k) => el("tr", {},
      el("td", {}, clock(k.time)), el("td", {}, k.name + (k.pid ? " (pid " + k.pid + ")" : "")), el("td", { class: "num" }, k.bytes ? bytes(k.bytes) : "–"), el("td", {}, k.by), el("td", { class: "wide" }, k.what ?? "")))));
    if (r.compactions?.length) {
      parts.push(el("h2", {}, "Room made in the conversation"), table("Compactions", ["When", "Tokens", ">Cut", "How", "Why", "The words"], r.compactions.map((c) => {
        const text = el("div");
        const button = c.checkpoint && el("button", { "aria-expanded": open.has(c.checkpoint) ? "true" : "false", onclick: (e) => words(c.checkpoint, text, e.currentTarget) }, "what was cut");
        if (c.checkpoint && open.has(c.checkpoint)) text.append(el("pre", { tabindex: "0", "aria-label": "What was cut" }, open.get(c.checkpoint)));
        return el("tr", {}, el("td", {}, clock(c.time)), el("td", {}, tokens(c.before_tokens) + " → " + tokens(c.after_tokens)), el("td", { class: "num" }, bytes(c.cut_bytes)), el("td", {}, (c.rungs ?? []).join(", ")), el("td", {}, c.boundary ? c.reason + ": " + c.boundary : c.reason), el("td", { class: "wide" }, button || "not kept", text));
      })));
    }
    if (r.tools?.length) parts.push(el("h2", {}, "Results of tools"), el("p", { class: "sub" }, "What was too large is kept for a day, and the agent reads the rest of it page by page."),
      table("Results of tools", ["Server", "Tool", ">Calls", ">From the server", ">To the agent", ">Largest", ">Kept to be paged"], r.tools.map((t) => el("tr", {},
        el("td", {}, t.server), el("td", {}, t.tool), el("td", { class: "num" }, t.calls), el("td", { class: "num" }, bytes(t.upstream_bytes)), el("td", { class: "num" }, bytes(t.delivered_bytes)), el("td", { class: "num" }, t.max_bytes ? bytes(t.max_bytes) : "–"), el("td", { class: "num" }, t.spilled)))));
    if (r.largest?.length) parts.push(el("h2", {}, "Largest results"),
      table("Largest results", ["When", "Server", "Tool", ">From the server", ">To the agent", "How"], r.largest.map((t) => el("tr", {},
        el("td", {}, clock(t.time)), el("td", {}, t.server), el("td", {}, t.tool || t.method), el("td", { class: "num" }, bytes(t.upstream_bytes)), el("td", { class: "num" }, bytes(t.delivered_bytes)), el("td", { class: "wide" }, how(t))))));
    if (r.records?.length) parts.push(el("h2", {}, "What happened last"), table("Records", ["When", "What", "Details"], r.records.slice(-100).reverse().map((e) => el("tr", {},
      el("td", {}, clock(e.time)), el("td", {}, e.kind), el("td", { class: "wide" }, el("code", {}, JSON.stringify(e.event)))))));
    const top = scrollY;
    main.replaceChildren(...parts);
    memoryChart(box, r);
    windowChart(box, r);
    if (!charts.length) box.append(empty("No samples yet."));
    scrollTo(0, top);
  }

  async function load() {
    if (busy) return;
    busy = true;
    try {
      const r = await get("api/run/" + encodeURIComponent(id));
      if (!gone) draw(r);
    } catch (e) {
      if (!gone) main.replaceChildren(empty(e.message));
    }
    busy = false;
  }

  function update(s) { // when its row changes
    const now = JSON.stringify(s.rows.get(id) ?? null);
    if (now !== seen) { seen = now; load(); }
  }
  const resized = () => { // each as wide as its card
    for (const c of charts) c.u.setSize({ width: Math.max(200, c.holder.parentElement.clientWidth - 32), height: 190 }); };
  addEventListener("resize", resized);
  seen = JSON.stringify(state.rows.get(id) ?? null);
  load();
  return { update, leave: () => { gone = true; removeEventListener("resize", resized); for (const c of charts) c.u.destroy(); } };
}
