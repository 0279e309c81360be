// Tasks that agents have over A2A, and questions to agents, from there and from the command line.
export default function draw(box, data, { el, bytes, tokens, duration, clock, table, empty, pill }) {
  const { tasks, questions } = data;
  if (!tasks.length && !questions.length) { box.append(empty("No agent was asked yet: plimsoll ask \"…\"")); return; }
  const state = (name) => name.replace(/^TASK_STATE_/, "").toLowerCase().replaceAll("_", " ");
  if (tasks.length) box.append(el("h2", {}, "Tasks over A2A"), table("Tasks over A2A", ["State", "Agent", "Changed", ">Size", "Task"], tasks.map((t) => el("tr", {},
    el("td", {}, pill(state(t.state) === "completed" ? "ok" : state(t.state))), el("td", {}, t.agent), el("td", {}, clock(t.changed)), el("td", { class: "num" }, bytes(t.bytes)), el("td", {}, el("code", {}, t.id))))));
  if (questions.length) box.append(el("h2", {}, "Questions"), table("Questions to agents", ["Outcome", "Agent", "When", ">Took", ">Steps", ">Calls", ">Tokens in", ">Tokens out", ">Largest result", "Run"], questions.map((q) => el("tr", {},
    el("td", {}, pill(q.outcome === "completed" ? "ok" : q.outcome), ), el("td", {}, q.agent), el("td", {}, clock(q.time)), el("td", { class: "num" }, duration(q.duration_ns / 1e6)), el("td", { class: "num" }, q.steps), el("td", { class: "num" }, q.calls),
    el("td", { class: "num" }, tokens(q.tokens_in)), el("td", { class: "num" }, tokens(q.tokens_out)), el("td", { class: "num" }, bytes(q.peak_bytes)), el("td", {}, el("a", { href: "#/run/" + q.run }, q.run))))));
}
