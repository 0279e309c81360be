// Charts over time, each in a card, as wide as it. What is drawn again under the same title is changed in place.
import { el } from "./tools.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const two = (n) => String(n).padStart(2, "0");
const binary = Array.from({ length: 50 }, (_, n) => 2 ** n); // steps of an axis with sizes

const spans = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800, 2592000];

function moment(at, step) { // by 24 hours, as everywhere
  const d = new Date(at * 1000);
  if (step >= 86400) return two(d.getDate()) + "." + two(d.getMonth() + 1) + ".";
  return two(d.getHours()) + ":" + two(d.getMinutes()) + (step < 60 ? ":" + two(d.getSeconds()) : "");
}

// charts returns what draws into a box. A series has a label, a colour and values; with fill it is filled, with points it has points only,
// with own it shows those values beside its label, as a band does that lies on others, and with step a value holds until the next one.
export default function charts(box, height = 200) {
  const all = new Map(); // title -> { u, card, holder, kind }
  box.dataset.own = "";
  const fit = new ResizeObserver((list) => {
    for (const e of list) for (const c of all.values()) if (c.holder === e.target && e.contentRect.width >= 100) c.u.setSize({ width: Math.floor(e.contentRect.width), height });
  });

  function draw(title, times, series, format) {
    const kind = JSON.stringify(series.map((s) => [s.label, s.colour])), data = [times, ...series.map((s) => s.values)], had = all.get(title);
    if (had) Object.assign(had, { series, drawn: [title, times, series, format] });
    if (had?.kind === kind) {
      const x = had.u.scales.x, was = had.u.data[0];
      had.u.setData(data, x.min <= was[0] && x.max >= was[was.length - 1]); // a part that somebody has selected stays
      return;
    }
    had?.u.destroy();
    const holder = had?.holder ?? el("div", { class: "plot" }), card = had?.card ?? el("div", { class: "card chart" }, el("h3", {}, title), holder);
    if (!had) box.append(card);
    const c = { holder, card, kind, series, drawn: [title, times, series, format] };
    const axis = { stroke: css("--soft"), grid: { stroke: css("--line") }, ticks: { stroke: css("--line") } };
    const at = (u, n) => n ?? u.data[0].length - 1; // what is not pointed at shows its newest value
    c.u = new window.uPlot({
      width: Math.max(200, Math.floor(holder.clientWidth)), height, cursor: { y: false },
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(high * 1.05, 1)] } },
      axes: [{ ...axis, space: 80, incrs: spans, values: (_, list, __, ___, step) => list.map((v) => moment(v, step)) }, { ...axis, size: 78, values: (_, list) => list.map(format), ...(format(2 ** 20).endsWith("iB") && { incrs: binary }) }],
      series: [{ label: "Time", value: (u, _, __, n) => u.data ? moment(u.data[0][at(u, n)], 1) : "–" }, ...series.map((s, i) => ({
        label: s.label, stroke: css(s.colour), width: s.width ?? 2, dash: s.dash, fill: s.solid ? css(s.colour) : s.fill ? css(s.colour) + "22" : undefined,
        points: { show: s.points ?? false, size: 8, fill: s.points && css(s.colour) }, paths: s.points ? () => null : s.step ? window.uPlot.paths.stepped({ align: 1 }) : undefined,
        value: (u, _, __, n) => { const list = c.series[i].own ?? c.series[i].values, own = u.data && (n == null && s.points ? list.findLast((v) => v != null) : list[at(u, n)]); return own == null ? "–" : format(own); },
      }))],
    }, data, holder);
    all.set(title, c);
    fit.observe(holder);
  }

  function drop(title) {
    const c = all.get(title);
    if (!c) return;
    c.u.destroy();
    c.card.remove();
    all.delete(title);
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const repaint = () => { for (const c of all.values()) { c.kind = ""; draw(...c.drawn); } };
  dark.addEventListener("change", repaint);

  return { draw, drop, count: () => all.size, leave: () => { fit.disconnect(); dark.removeEventListener("change", repaint); for (const c of all.values()) c.u.destroy(); } };
}
