// What is remembered, with its origin: the newest, or what a search finds. This page reads; what forgets is a command, which it gives.
import tables from "../tables.js";

export default function draw(box, data, tools) {
  const { el, fill, clock, get, command, empty, facts } = tools;
  if (!data.namespaces) { box.append(empty("Nothing is remembered yet. What a person adds or an agent notes down stands here: ", command('plimsoll memory add "The tests need Go 1.26."'))); return; }
  let now = data, turn = 0, asked = null; // what was searched for, null is nothing

  const words = el("input", { type: "search", name: "q", id: "memory-words", placeholder: "A question or words", maxlength: 1000, autocomplete: "off", "aria-label": "Search the memory" });
  const choice = (name, label, all, values) => el("select", { name, "aria-label": label }, el("option", { value: "" }, all), values.map((v) => el("option", { value: v }, v)));
  const origin = choice("origin", "Whose words", "any origin", ["user", "agent", "tool"]);
  const kind = choice("kind", "Kind", "any kind", ["episode", "fact", "note", "pin"]);
  const said = el("p", { class: "sub", role: "status" });
  const list = el("ul", { class: "memory" }), more = el("button", { type: "button", hidden: true }, "Show more"), rest = el("div");
  const form = el("form", { class: "tools", role: "search" }, words, origin, kind, el("button", { type: "submit" }, "Search"));
  form.addEventListener("submit", (e) => { e.preventDefault(); search(); });
  origin.addEventListener("change", search);
  kind.addEventListener("change", search);
  words.addEventListener("input", () => { if (!words.value) search(); }); // cleared
  more.addEventListener("click", () => search(list.childElementCount));
  box.append(form, said, list, more, rest);

  async function search(from) {
    const mine = ++turn, offset = typeof from === "number" ? from : 0;
    const q = { q: words.value.trim(), origin: origin.value, kind: kind.value };
    if (!q.q && !q.origin && !q.kind && !offset) { asked = null; newest(); return; }
    said.textContent = "…";
    try {
      const found = await get("api/page/memory?" + new URLSearchParams({ ...q, offset }));
      if (mine !== turn) return;
      asked = q;
      if (!offset) list.replaceChildren();
      show(found.records, found.total, q.q ? "found for “" + q.q + "”, the best first" : "records, the newest first");
    } catch (e) { if (mine === turn) said.textContent = e.message; }
  }

  function show(records, total, what) {
    list.append(...records.map(item));
    tell(records, total, what);
  }

  function tell(records, total, what) {
    said.textContent = total ? list.childElementCount + " of " + total + " " + what : "Nothing is remembered that has one of these words.";
    more.hidden = list.childElementCount >= total || !records.length;
  }

  function newest() {
    fill(list, now.records.map(item));
    tell(now.records, now.total, "records, the newest first");
  }

  function head(r) {
    return [el("span", { class: "pill " + ({ user: "ok", agent: "live", tool: "warn" }[r.origin] ?? "") }, r.origin), " ",
      [r.kind, clock(r.said), r.namespace, r.source, r.count > 1 && r.count + " times", r.withheld && "taken back"].filter(Boolean).join(" · ")];
  }

  function item(r) {
    const where = el("div", { "data-own": true });
    const details = el("details", {}, el("summary", {}, "Where it comes from, and how to forget it"), where);
    details.addEventListener("toggle", async () => {
      if (!details.open || where.childElementCount) return;
      where.textContent = "…";
      try { where.replaceChildren(...origins(await get("api/page/memory?" + new URLSearchParams({ why: r.id })), r)); } catch (e) { where.textContent = e.message; }
    });
    return el("li", { class: "card", "data-record": r.id, "data-key": r.id }, el("p", { class: "sub" }, head(r)), el("p", { class: "words" }, r.text), details);
  }

  function short(r) { return el("p", { class: "sub" }, head(r), el("br"), r.text); }

  function origins(w, shown) {
    const s = w.record.source ?? {};
    const used = (w.uses ?? []).map((u) => el("p", { class: "sub" }, [clock(u.at), u.how === "search" ? "found by a search" : "added to a prompt", u.client, u.conversation && "conversation " + u.conversation, u.words && "by the words: " + u.words].filter(Boolean).join(" · "), u.run && [" · ", run(u.run)]));
    const fact = w.record.fact;
    return [
      shown.cut && el("pre", { tabindex: "0", role: "region", "aria-label": "All its words" }, w.record.text),
      facts([
        ["Origin", { user: "yours: typed by a person", agent: "an agent's: a model or a program in its name wrote it", tool: "a tool's: a result, a page, a file, or what only looks like a person's words" }[w.record.origin]],
        ["Said", new Date(w.record.said).toLocaleString()],
        ["By", [s.client, s.speaker, s.role, s.tool, s.file].filter(Boolean).join(", ")],
        ["Conversation", s.conversation && s.conversation + (s.turn ? ", turn " + s.turn : "")],
        ["Run", s.run && run(s.run)],
        ["Fact", fact && fact.subject + " · " + fact.attribute + " = " + fact.value + " · “" + fact.quote + "”"],
        ["Derived from", (w.from.length > 0 || w.gone?.length > 0) && [w.from.map(short), (w.gone ?? []).map((id) => el("p", { class: "sub" }, id + ", which is there no longer"))]],
        ["Derived from it", w.derived.length > 0 && w.derived.map(short)],
        ["Given to", used.length ? used : "nobody yet"],
        ["Pinned", w.pinned ? "yes" : "no"],
        ["Taken back", w.withheld && "yes: it is not put before a model by itself"],
        ["ID", el("code", {}, w.record.id)],
        w.not && [w.withheld ? "To let it be given again" : "To take it back", command(w.not)],
        [w.record.kind === "pin" ? "To unpin it" : "To forget it", command(w.forget)],
      ].filter(Boolean)),
    ].filter(Boolean);
  }

  function run(id) { return el("a", { href: "#/run/" + encodeURIComponent(id) }, id); }

  function drawRest() {
    fill(rest, [now.namespaces, now.pins].filter((t) => t.rows.length).map((t) => {
      const part = el("div");
      tables(part, { tables: [t] }, tools);
      return [el("h2", {}, t.title), part];
    }));
  }

  newest();
  drawRest();
  return {
    // What is new is shown at once, unless somebody has searched, or is reading where a record comes from.
    update(fresh) {
      if (!fresh.namespaces || !now.namespaces) return;
      now = fresh;
      if (!asked && !list.querySelector("details[open]")) newest();
      drawRest();
    },
  };
}
