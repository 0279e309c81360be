// What all pages use. Text of others is only ever set as text.

import { fill, write } from "./place.js";

export { change, fill, place, still, write } from "./place.js";

// el makes an element: attributes by name, "on…" as listeners, the rest as children.
export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) { e[name] = value; (e.hears ??= []).push(name); } // see change
    else if (name === "class") e.className = value;
    else e.setAttribute(name, value === true ? "" : String(value));
  }
  fill(e, children);
  return e;
}

export function bytes(n) {
  if (!n) return "0 B";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return (n >= 100 || i === 0 ? n.toFixed(0) : n.toFixed(1)) + " " + units[i];
}

export function tokens(n) {
  if (n >= 1e6) return (n / 1e6).toFixed(n >= 1e7 ? 0 : 1) + "M";
  if (n >= 1000) return (n / 1000).toFixed(n >= 1e4 ? 0 : 1) + "k";
  return String(n ?? 0);
}

export function dollars(n) { return "$" + (n > 0 && n < 0.005 ? n.toPrecision(2) : (n ?? 0).toFixed(2)); }

// spentGauges are bars of what was used of limits of what may be spent, else the cost; nothing where neither is known.
export function spentGauges(r, of) {
  if (r.spent?.length) return r.spent.map((s) => gauge(s.used, s.most, s.words + (s.name.startsWith("budget.") ? " of all runs" : " spent"), s.name + of));
  return r.cost > 0 ? el("span", {}, dollars(r.cost) + " spent") : null;
}

export function duration(ms) {
  const s = Math.max(0, ms / 1000);
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + "m " + Math.floor(s % 60) + "s";
  if (s < 86400) return Math.floor(s / 3600) + "h " + Math.floor(s % 3600 / 60) + "m";
  return Math.floor(s / 86400) + "d " + Math.floor(s % 86400 / 3600) + "h";
}

export function clock(text) {
  if (!text) return "";
  const at = new Date(text), now = new Date();
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
  return at.toDateString() === now.toDateString() ? time : at.toLocaleDateString([], { month: "short", day: "numeric" }) + " " + time.slice(0, 5);
}

const states = { ok: "ok", completed: "ok", running: "live", waiting: "warn", waits_for_you: "you", idle: "warn", failed: "bad", oom: "bad", limit: "bad", refused: "warn", signalled: "warn", died: "bad", critical: "bad", warning: "warn" };
export function pill(state) { return el("span", { class: "pill " + (states[state] ?? "") }, state.replaceAll("_", " ")); }

// gauge is a bar with its words; label says what it measures to who cannot see it.
export function gauge(value, most, words, label) {
  if (!most) return el("span", {}, words);
  return el("span", {}, words, el("meter", { min: 0, max: 100, low: 75, high: 90, optimum: 0, value: Math.min(100, 100 * value / most).toFixed(1), "aria-label": label }));
}

export function table(label, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col", class: h.startsWith(">") ? "num" : undefined }, h.replace(/^>/, ""))))), el("tbody", {}, rows)));
}

export function facts(list) {
  return el("dl", { class: "facts" }, list.filter((f) => f && f[1]).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function empty(...text) { return el("p", { class: "empty card" }, text); }

// command is a command line with a button that copies it: this page only reads, and acts on nothing.
export function command(text) {
  return el("span", { class: "command" }, el("code", {}, text), " ", el("button", { type: "button", class: "copy", "aria-label": "Copy: " + text }, "Copy"));
}

document.addEventListener("click", async (e) => {
  const button = e.target.closest?.("button.copy"), code = button?.parentElement.querySelector("code");
  if (!code) return;
  try { await navigator.clipboard.writeText(code.textContent); write(button, "Copied"); } catch { getSelection().selectAllChildren(code); write(button, "Selected: copy it"); }
});

export function alertLine(a) {
  return el("div", { class: "alert " + a.level, "data-key": a.what + a.run },
    el("p", {}, pill(a.level === "critical" ? "critical" : "warning"), " ", a.run ? el("a", { class: "name", href: "#/run/" + a.run }, a.tool) : el("span", { class: "name" }, a.tool), " ", el("span", {}, a.text), " ", el("time", {}, clock(a.time))), a.help && el("p", {}, command(a.help)));
}

// get reads JSON; an error has the server's words.
export async function get(path) {
  const r = await fetch(path, { headers: { Accept: "application/json" } });
  const text = await r.text();
  let value;
  try { value = JSON.parse(text); } catch { value = { error: text.trim() || r.statusText }; }
  if (!r.ok) throw new Error(value.error ?? r.statusText);
  return value;
}
