// The frame: which page is shown, and the state that the server keeps up to date.
import * as tools from "./tools.js";
import overviewPage from "./overview.js";
import runPage from "./run.js";
import alertsPage from "./alerts.js";

const { el, fill, get, still } = tools;
const main = document.getElementById("main");
const state = { rows: new Map(), order: [], host: null, alerts: [], spent: null, error: "", version: "", pages: [], connected: false };
let shown = null; // { update(state), leave() }
let turn = 0;

const builtin = [{ name: "", title: "Overview" }, { name: "alerts", title: "Alerts" }];

function take(now) {
  for (const r of now.rows) state.rows.set(r.id, r);
  if (now.order) state.order = now.order;
  else if (!state.order.length) state.order = now.rows.map((r) => r.id);
  const here = new Set(state.order);
  for (const id of state.rows.keys()) if (!here.has(id)) state.rows.delete(id);
  for (const key of ["host", "alerts", "spent", "error"]) if (key in now) state[key] = now[key];
}

function drawHost() {
  const h = state.host, box = document.getElementById("host");
  const parts = [];
  if (!state.connected) parts.push(el("span", { class: "lost" }, "not connected, trying again"));
  if (state.error) parts.push(el("span", { class: "lost" }, state.error));
  if (h) {
    parts.push(tools.gauge(h.total_bytes - h.available_bytes, h.total_bytes, tools.bytes(h.available_bytes) + " of " + tools.bytes(h.total_bytes) + " free", "memory of the host in use"));
    parts.push(el("span", {}, tools.bytes(h.reserved_bytes) + " reserved"));
    if (h.stall_percent >= 0) parts.push(el("span", {}, "pressure " + h.stall_percent.toFixed(1) + " %"));
    if (h.waiting) parts.push(el("span", {}, h.waiting + " waiting"));
  }
  fill(box, parts);
}

function drawNav() {
  const here = location.hash.replace(/^#\/?/, "").split("/")[0];
  const pages = [...builtin, ...state.pages];
  fill(document.getElementById("nav"), pages.map((p) => {
    const current = here === p.name || p.name === "" && here === "run";
    const count = p.name === "alerts" && state.alerts.length ? " (" + state.alerts.length + ")" : "";
    return el("a", { href: "#/" + p.name, "data-key": p.name, "aria-current": current ? "page" : undefined }, p.title + count);
  }));
}

async function route() {
  const mine = ++turn;
  shown?.leave?.();
  shown = null;
  const [name, id] = location.hash.replace(/^#\/?/, "").split("/");
  drawNav();
  let next;
  try {
    if (name === "") next = overviewPage(main, state, tools);
    else if (name === "alerts") next = alertsPage(main, state, tools);
    else if (name === "run") next = runPage(main, state, tools, decodeURIComponent(id ?? ""));
    else {
      const page = state.pages.find((p) => p.name === name);
      if (!page) { main.replaceChildren(tools.empty("There is no page of this name.")); return; }
      document.title = page.title + " · Plimsoll";
      main.replaceChildren(el("h1", {}, page.title), tools.empty("…"));
      const [module, data] = await Promise.all([import("./page/" + page.name + ".js"), get("api/page/" + page.name)]);
      if (mine !== turn) return;
      next = keepUp(page, module.default, data);
    }
  } catch (e) {
    if (mine === turn) main.replaceChildren(tools.empty(e.message));
    return;
  }
  if (mine === turn) shown = next ?? null;
}

// keepUp draws a page, and draws it anew when its data have changed.
function keepUp(page, draw, data) {
  const box = el("div"), problem = el("p", { class: "sub", role: "status" });
  main.replaceChildren(el("h1", {}, page.title), problem, box);
  let seen = JSON.stringify(data), busy = false;
  let drawn = draw(box, data, tools);
  const timer = setInterval(async () => {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const now = await get("api/page/" + page.name), text = JSON.stringify(now);
      problem.textContent = "";
      if (text !== seen) still("page", () => {
        seen = text;
        if (drawn?.update) { drawn.update(now); return; }
        const next = el("div");
        drawn = draw(next, now, tools);
        fill(box, [...next.childNodes]);
      });
    } catch (e) { problem.textContent = "what is shown may be old: " + e.message; }
    busy = false;
  }, 3000);
  return { leave: () => clearInterval(timer) };
}

function update() {
  drawHost();
  drawNav();
  shown?.update?.(state);
}

// A browser opens six connections to one server, and a stream takes one for good: of all tabs one has it, and tells the others.
const others = new BroadcastChannel("plimsoll");
others.onmessage = (e) => hear(e.data);

function hear(m) {
  state.connected = m.connected;
  if (m.now) take(m.now);
  still("state", update);
}

function tell(m) {
  others.postMessage(m);
  hear(m);
}

function connect() {
  const source = new EventSource("api/events");
  source.onopen = () => tell({ connected: true });
  source.onmessage = (e) => tell({ connected: true, now: JSON.parse(e.data) });
  source.onerror = () => {
    tell({ connected: false });
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  };
}

function listen() {
  if (!navigator.locks) { connect(); return; }
  navigator.locks.request("plimsoll-stream", () => { connect(); return new Promise(() => {}); });
}

// The keys.
const keys = document.getElementById("keys");
keys.querySelector("button").addEventListener("click", () => keys.close());
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input, select, textarea, dialog")) {
    if (e.key === "Escape" && e.target.type === "search") e.target.blur();
    return;
  }
  if (e.key === "?") keys.showModal();
  if (e.key !== "/") return;
  e.preventDefault();
  const field = () => main.querySelector("input[type=search]");
  if (field()) field().focus();
  else { location.hash = "#/"; addEventListener("shown", () => field()?.focus(), { once: true }); }
});

try {
  const first = await get("api/state");
  state.version = first.version;
  state.pages = first.pages;
  take(first.now);
  state.connected = true;
} catch (e) {
  state.error = e.message;
}
document.getElementById("foot").textContent = "Plimsoll " + state.version + " · reads only · plimsoll runs and plimsoll top show the same in a terminal · ";
document.getElementById("foot").append(el("button", { type: "button", class: "link", onclick: () => keys.showModal() }, "keys: ?"));
addEventListener("hashchange", async () => { await route(); main.focus({ preventScroll: true }); scrollTo(0, 0); dispatchEvent(new Event("shown")); });
await route();
update();
listen();
