// A page of tables, as the server describes them.
const numbers = new Set(["count", "bytes", "tokens", "duration"]);

export default function draw(box, data, tools) {
  const { el, clock, pill, table, empty } = tools;
  function show(kind, v) {
    if (v === undefined || v === null || v === "") return "–";
    switch (kind) {
      case "bytes": case "tokens": case "duration": return tools[kind](v);
      case "time": return clock(v);
      case "state": return pill(String(v));
      case "code": return el("code", {}, v);
      case "run": return el("a", { href: "#/run/" + encodeURIComponent(v) }, v);
    }
    return String(v);
  }
  function cell(column, given) {
    const c = given !== null && typeof given === "object" && "value" in given ? given : { value: given };
    return el("td", { class: numbers.has(column.kind) ? "num" : column.kind === "wide" ? "wide" : undefined }, show(column.kind, c.value), c.note && el("span", { class: "sub" }, c.note));
  }
  // A row has the key of what names it, so that it stays itself when another comes above it.
  function keys(t) {
    const names = (kinds) => t.columns.map((c, i) => kinds.includes(c.kind ?? "") ? i : -1).filter((i) => i >= 0), seen = new Map();
    const by = names(["run", "code"]).length ? names(["run", "code"]) : names(["", "wide"]);
    return t.rows.map((r) => {
      const key = JSON.stringify(by.map((i) => r[i]?.value ?? r[i])), n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      return key + n;
    });
  }
  for (const t of data.tables) {
    const named = keys(t);
    if (!t.rows.length && !t.empty) continue;
    if (data.tables.length > 1) box.append(el("h2", {}, t.title));
    if (t.note) box.append(el("p", { class: "sub" }, t.note));
    if (!t.rows.length) { box.append(empty(t.empty)); continue; }
    box.append(table(t.title, t.columns.map((c) => (numbers.has(c.kind) ? ">" : "") + c.name), t.rows.map((r, i) => el("tr", { "data-key": named[i] }, t.columns.map((c, i) => cell(c, r[i]))))));
    if (t.left_out) box.append(el("p", { class: "sub" }, t.left_out + " more are left out"));
  }
  if (!box.childElementCount) box.append(empty("There is nothing to show."));
}
