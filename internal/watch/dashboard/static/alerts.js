// What somebody should look at.
export default function alertsPage(main, state, { el, fill, clock, empty }) {
  document.title = "Alerts · Plimsoll";
  const list = el("div");
  main.replaceChildren(el("h1", {}, "Alerts"), el("p", { class: "sub" }, "Runs that are near a limit now, and what was killed, refused or too large in the last 24 hours."), list);
  function draw() {
    fill(list, state.alerts.length ? state.alerts.map((a) => el("div", { class: "alert " + a.level, "data-key": a.what + a.run },
      el("strong", {}, a.level), el("time", {}, clock(a.time)), el("a", { href: "#/run/" + a.run }, a.tool), el("span", {}, a.text))) : empty("Nothing needs a look."));
  }
  draw();
  return { update: draw };
}
