// The list of runs: those that live first.
export default function runsPage(main, state, { el, change, fill, place, write, bytes, tokens, duration, clock, pill, gauge, table, empty }) {
  document.title = "Runs · Plimsoll";
  const find = el("input", { type: "search", placeholder: "tool, project, outcome", "aria-label": "Show only runs with this text", oninput: () => draw() });
  const list = el("div"), alerts = el("div");
  main.replaceChildren(el("h1", {}, "Runs"), alerts, el("div", { class: "tools" }, find), list);
  const heads = ["State", "Tool and project", "Memory", "Window", ">CPU", ">Room made", ">Largest result", ">Kills", "Started", ">Took"];
  const known = new Set(state.order);
  const cells = new Map(); // id -> { text, tr, took }

  function row(r) {
    const live = r.state === "running" || r.state === "waiting";
    const used = live ? r.now_bytes : r.peak_bytes;
    const window = live && r.window_tokens ? r.window_tokens : r.window_peak_tokens;
    const memory = r.limit_bytes ? gauge(used, r.limit_bytes, bytes(used) + " of " + bytes(r.limit_bytes), "memory of its limit") : used ? bytes(used) : "–";
    return el("tr", { class: (live ? "" : "ended") + (known.has(r.id) ? "" : " fresh"), "data-run": r.id, "data-key": r.id },
      el("td", {}, pill(r.state), r.reason && el("span", { class: "sub" }, r.reason)),
      el("td", {}, el("a", { class: "name", href: "#/run/" + r.id }, r.tool + (r.variant ? " " + r.variant : "")), el("span", { class: "sub" }, r.project)),
      el("td", {}, memory, live && (r.peak_bytes > used || r.reservation_bytes) && el("span", { class: "sub" }, [r.peak_bytes > used && "peak " + bytes(r.peak_bytes), r.reservation_bytes && bytes(r.reservation_bytes) + " reserved"].filter(Boolean).join(", "))),
      el("td", {}, r.requests ? gauge(window, r.window_limit_tokens, tokens(window) + (r.window_limit_tokens ? " of " + tokens(r.window_limit_tokens) : ""), "window of its limit") : "–"),
      el("td", { class: "num" }, live && r.state === "running" ? r.cpu_percent.toFixed(0) + " %" : "–"),
      el("td", { class: "num" }, r.compactions || "–"),
      el("td", { class: "num" }, r.largest_result_bytes ? bytes(r.largest_result_bytes) : "–", r.largest_result_tool && el("span", { class: "sub" }, r.largest_result_tool)),
      el("td", { class: "num" }, r.kills || "–"),
      el("td", {}, clock(r.started)),
      el("td", { class: "num took" }, duration(live ? Date.now() - new Date(r.started) : r.duration_ms ?? 0)));
  }

  function draw() {
    const text = find.value.trim().toLowerCase();
    const rows = [];
    for (const id of state.order) {
      const r = state.rows.get(id);
      if (!r || text && ![r.tool, r.project, r.state, r.reason ?? "", r.model ?? "", r.id].some((s) => s.toLowerCase().includes(text))) continue;
      const now = JSON.stringify(r);
      let c = cells.get(id);
      if (!c) cells.set(id, c = { text: now, tr: row(r) });
      else if (c.text !== now) { c.text = now; change(c.tr, row(r)); }
      known.add(id);
      rows.push(c.tr);
    }
    for (const id of cells.keys()) if (!state.rows.has(id)) cells.delete(id);
    const body = list.querySelector("tbody");
    if (!rows.length) fill(list, empty(state.order.length ? "No run has this text." : "Nothing has run yet: plimsoll run -- claude"));
    else if (body) place(body, rows);
    else fill(list, table("Runs", heads, rows));
    fill(alerts, state.alerts.slice(0, 3).map((a) => el("div", { class: "alert " + a.level, "data-key": a.what + a.run }, el("time", {}, clock(a.time)), el("a", { href: "#/run/" + a.run }, a.tool), el("span", {}, a.text))));
  }
  const ages = setInterval(() => {
    for (const [id, c] of cells) {
      const r = state.rows.get(id);
      if (r && (r.state === "running" || r.state === "waiting")) write(c.tr.querySelector(".took"), duration(Date.now() - new Date(r.started)));
    }
  }, 1000);
  draw();
  return { update: draw, leave: () => clearInterval(ages) };
}
