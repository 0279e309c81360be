// The overview: what runs now, what went wrong, who has the memory of the host, and below that every run.
import charts from "./charts.js";

const page = 50; // rows at a time
const bands = ["--b0", "--b1", "--b2", "--b3", "--b4", "--b5", "--b6", "--b7"];

export default function overviewPage(main, state, tools) {
  const { el, fill, change, place, write, get, still, bytes, tokens, duration, clock, pill, gauge, command, alertLine, empty, dollars, spentGauges } = tools;
  document.title = "Overview · Plimsoll";
  const lives = (r) => !r.ended;
  const name = (r) => r.tool + (r.variant ? " " + r.variant : "");
  const took = (r) => duration(lives(r) ? Date.now() - new Date(r.started) : r.duration_ms ?? 0);

  const now = el("div", { class: "cards" }), wrong = el("div"), memory = el("div", { class: "host-memory" }), spent = el("div");
  const find = el("input", { type: "search", id: "find", placeholder: "tool, project, outcome", "aria-label": "Show only runs with this text", autocomplete: "off", oninput: () => { most = page; draw(); } });
  const said = el("p", { class: "sub", role: "status" }), list = el("div"), further = el("button", { type: "button", hidden: true, onclick: () => { most += page; draw(); } });
  const block = (id, title, body) => el("section", { "aria-labelledby": id }, el("h2", { id }, title), body);
  main.replaceChildren(el("h1", {}, "Overview"), el("div", { class: "blocks" }, block("now", "What runs now", now), block("wrong", "What went wrong", wrong)), block("memory", "Memory of this host, by run", memory), block("spent", "Spent today", spent),
    el("section", { "aria-labelledby": "all" }, el("h2", { id: "all" }, "All runs"), el("div", { class: "tools" }, find), said, list, further));
  let most = page, gone = false;
  const known = new Set(state.order), rows = new Map(), drawing = charts(memory, 220); // rows: id -> { text, tr }

  function card(r) {
    const you = r.state === "waits_for_you", idle = r.state === "idle", window = r.window_tokens;
    return el("article", { class: "card alive" + (you ? " you" : ""), "data-key": r.id },
      el("p", { class: "head" }, pill(r.state), " ", el("a", { class: "name", href: "#/run/" + r.id }, name(r)), " ", el("span", { class: "soft" }, r.project)),
      r.state === "waiting" ? el("p", { class: "sub" }, r.reason, el("br"), "Who holds it: ", command("plimsoll top")) : el("div", { class: "meters" },
        gauge(r.current_bytes, r.limit_bytes, bytes(r.current_bytes) + (r.limit_bytes ? " of " + bytes(r.limit_bytes) : ""), "memory of " + name(r) + ", of its limit"),
        r.requests > 0 && gauge(window, r.window_limit, tokens(window) + (r.window_limit ? " of " + tokens(r.window_limit) : "") + " tokens", "window of " + name(r) + ", of its limit"),
        spentGauges(r, " of " + name(r))),
      el("p", { class: "sub" }, you ? ["The answer ended the turn at ", clock(r.state_since), ", and nothing was asked since; it runs for "] : idle ? ["Nobody uses it since ", clock(r.state_since), "; it runs for "] : r.state === "running" ? "CPU " + Math.max(0, r.cpu_percent).toFixed(0) + " %, for " : "for ",
        el("span", { class: "took", "data-of": r.id }, took(r)), r.kills > 0 && ", " + r.kills + " killed"));
  }

  function row(r) {
    const live = lives(r), used = live ? r.current_bytes : r.peak_bytes, window = r.window_tokens;
    const cell = (label, kind, ...inner) => el("td", { role: "cell", class: kind + (inner[0] === "–" ? " none" : ""), "data-label": label }, inner);
    const cut = (text, kind) => el("span", { class: "cut " + (kind ?? ""), title: text }, text);
    return el("tr", { role: "row", class: (live ? "" : "ended") + (known.has(r.id) ? "" : " fresh"), "data-run": r.id, "data-key": r.id },
      cell("State", "", pill(r.state), r.reason && cut(r.reason, "sub")),
      cell("Run", "", el("a", { class: "name cut", href: "#/run/" + r.id, title: name(r) }, name(r)), cut(r.project, "sub")),
      cell("Memory", "", r.limit_bytes ? gauge(used, r.limit_bytes, bytes(used) + " of " + bytes(r.limit_bytes), "memory of its limit") : used ? bytes(used) : "–"),
      cell("Window", "", r.requests ? gauge(window, r.window_limit, tokens(window) + (r.window_limit ? " of " + tokens(r.window_limit) : ""), "window of its limit") : "–"),
      cell("Spent", "", spentGauges(r, ", of its limit") ?? "–"),
      cell("Killed", "num", r.kills || "–"), cell("Started", "", clock(r.started)), cell("Took", "num", el("span", { class: "took", "data-of": r.id }, took(r))));
  }

  const heads = [["State", "w4"], ["Run", "w5"], ["Memory", "w3"], ["Window", "w3"], ["Spent", "w2"], ["Killed", "w1 num"], ["Started", "w2"], ["Took", "w2 num"]];
  const body = el("tbody", { role: "rowgroup" });
  const table = el("table", { role: "table", "aria-label": "Runs" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map(([text, kind]) => el("th", { role: "columnheader", scope: "col", class: kind }, text)))), body);

  function drawNow() {
    const live = state.order.map((id) => state.rows.get(id)).filter((r) => r && lives(r)), turn = (r) => r.state === "waits_for_you" ? 0 : r.state === "idle" ? 2 : 1, shown = live.sort((a, b) => turn(a) - turn(b));
    if (!live.length) fill(now, empty("Nothing runs now. An agent inside its limits: ", command("plimsoll run -- claude")));
    else fill(now, shown.slice(0, 8).map(card), shown.length > 8 && el("p", { class: "sub" }, shown.length - 8 + " more are in the list below."));
  }

  function drawWrong() {
    const all = state.alerts;
    if (!all.length) fill(wrong, empty("Nothing went wrong in the last 24 hours. What was killed, refused or too large stands here, with the command that helps."));
    else fill(wrong, all.slice(0, 5).map(alertLine), all.length > 5 && el("p", { class: "sub" }, el("a", { href: "#/alerts" }, all.length - 5 + " more")));
  }

  function drawSpent() {
    const s = state.spent;
    if (!s) return;
    const parts = [];
    if (s.problem) parts.push(el("div", { class: "alert" }, "The budgets cannot be read: " + s.problem));
    for (const b of s.budgets) parts.push(el("p", { class: "meters", "data-key": b.name }, gauge(b.spent_usd, b.max_usd, dollars(b.spent_usd) + " of " + dollars(b.max_usd) + (b.name === "budget.day" ? " for the day" : " for the month"), b.name), el("span", { class: "soft" }, "begins anew " + clock(b.reset))));
    if (s.rows.length) parts.push(tools.table("Tools by what they have spent", ["Tool", ">Runs", ">Tokens", ">Spent", ">Would cost"], s.rows.map((r) => el("tr", { "data-key": r.name },
      el("td", {}, r.name), el("td", { class: "num" }, r.runs), el("td", { class: "num" }, tokens(r.tokens)), el("td", { class: "num" }, r.cost_usd > 0 ? dollars(r.cost_usd) : "–", r.unpriced_tokens > 0 && el("span", { class: "sub" }, tokens(r.unpriced_tokens) + " tokens without a price")),
      el("td", { class: "num" }, r.plan_usd > 0 ? dollars(r.plan_usd) : "–")))), el("p", { class: "sub" }, "Of the runs that began today. A subscription pays for what is in the last column. Other days: ", command("plimsoll spend")));
    else parts.push(empty("No run that began today has asked a model through the proxy. Tokens and dollars of each tool stand here, and the ", el("code", {}, "[budget]"), " where one is set. Other days: ", command("plimsoll spend")));
    fill(spent, parts);
  }

  function draw() {
    drawNow();
    drawWrong();
    drawSpent();
    const text = find.value.trim().toLowerCase(), shown = [];
    let found = 0;
    for (const id of state.order) {
      const r = state.rows.get(id);
      if (!r || text && ![name(r), r.project, r.state.replaceAll("_", " "), r.reason ?? "", r.model ?? "", r.id].some((s) => s.toLowerCase().includes(text))) continue;
      if (++found > most) continue;
      const seen = JSON.stringify(r);
      let c = rows.get(id);
      if (!c) rows.set(id, c = { text: seen, tr: row(r) });
      else if (c.text !== seen) { c.text = seen; change(c.tr, row(r)); }
      known.add(id);
      shown.push(c.tr);
    }
    for (const id of rows.keys()) if (!state.rows.has(id)) rows.delete(id);
    place(body, shown);
    if (!shown.length) fill(list, empty(state.order.length ? "No run has this text." : ["Nothing has run yet. Every run stands here with its memory and its window: ", command("plimsoll run -- claude")]));
    else if (!table.isConnected) list.replaceChildren(el("div", { class: "scroll list" }, table));
    write(said, found > shown.length || text ? shown.length + " of " + found + " runs" : "");
    further.hidden = found <= shown.length;
    write(further, "Show " + Math.min(page, found - shown.length) + " more");
  }

  // The bands lie one above the other: each is drawn as the sum of itself and those below, the highest first.
  function drawMemory(m) {
    const times = m.used_bytes.map((_, i) => new Date(m.from) / 1000 + i * m.step_ms / 1000);
    let sum = times.map(() => 0);
    const stacked = m.bands.map((b, i) => {
      sum = sum.map((n, at) => n + b.bytes[at]);
      return { label: b.tool + (b.project ? " in " + b.project : ""), colour: bands[i % bands.length], solid: true, width: 1, values: sum, own: b.bytes };
    }).reverse();
    const used = m.used_bytes.map((n) => n < 0 ? null : n);
    const none = memory.querySelector(".empty");
    if (stacked.length) none?.remove();
    else {
      drawing.drop(memoryTitle);
      if (!none) memory.append(empty("No run had memory in the last half hour. What each has is drawn here, one above the other."));
      return;
    }
    drawing.draw(memoryTitle, times, [...stacked, ...(used.some((n) => n !== null) ? [{ label: "in use on the host", colour: "--text", dash: [4, 4], width: 1, values: used }] : [])], bytes);
  }

  const memoryTitle = "The last half hour";
  async function loadMemory() {
    if (document.hidden) return;
    try { const m = await get("api/memory"); if (!gone) still("memory", () => gone || drawMemory(m)); } catch { /* the line at the top says so */ }
  }

  const ages = setInterval(() => still("ages", () => {
    for (const e of main.querySelectorAll(".took")) { const r = state.rows.get(e.dataset.of); if (r && lives(r)) write(e, took(r)); }
  }), 1000);
  const looks = setInterval(loadMemory, 5000);
  draw();
  loadMemory();
  return { update: draw, leave: () => { gone = true; clearInterval(ages); clearInterval(looks); drawing.leave(); } };
}
