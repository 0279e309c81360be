// The memory of a run by the names of its processes: one band above the other, and in words what it was at its highest.
const colours = ["--b0", "--b1", "--b2", "--b3", "--b4", "--b5"];
const called = (p) => p.name || "other processes";

// chart draws the bands. Each is drawn as the sum of itself and those below, the highest first, and holds until the next point: nothing was
// written while nothing changed.
function chart(drawing, r, bytes) {
  const b = r.by_process;
  if (!b?.names.length) return;
  const t0 = new Date(r.started) / 1000, end = r.ended ? t0 + r.duration_ms / 1000 : Date.now() / 1000;
  const times = [...b.at_ms.map((at) => t0 + at / 1000)], longer = end > times[times.length - 1];
  const held = (list) => longer ? [...list, list[list.length - 1]] : list;
  if (longer) times.push(end);
  let sum = times.map(() => 0);
  const bands = b.names.map((p, i) => {
    const own = held(p.bytes);
    sum = sum.map((n, at) => n + own[at]);
    return { label: called(p), colour: colours[i] ?? "--b7", solid: true, step: true, width: 1, values: sum, own };
  }).reverse();
  drawing.draw("Memory by process", times, [...bands, { label: "all, with what they share", colour: "--text", dash: [4, 4], step: true, width: 1, values: held(b.working_bytes) }], bytes);
}

// highest returns which processes held how much when the run held the most; nothing for a single one.
function highest(r, bytes) {
  const b = r.by_process, at = b?.working_bytes.indexOf(Math.max(...b.working_bytes));
  const list = (b?.names ?? []).filter((p) => p.bytes[at] > 0).sort((p, q) => q.bytes[at] - p.bytes[at]);
  return list.length > 1 && list.map((p) => called(p) + " " + bytes(p.bytes[at])).join(", ");
}

export default { chart, highest };
