// What somebody should look at.
export default function alertsPage(main, state, { el, fill, alertLine, empty }) {
  document.title = "Alerts · Plimsoll";
  const list = el("div");
  main.replaceChildren(el("h1", {}, "Alerts"), el("p", { class: "sub" }, "Runs that are near a limit now, and what was killed, refused or too large in the last 24 hours, each with the command that helps."), list);
  function draw() {
    fill(list, state.alerts.length ? state.alerts.map(alertLine) : empty("Nothing needs a look. A run that uses three quarters of its memory, a kill, a refusal or a result of more than 200 KB would stand here."));
  }
  draw();
  return { update: draw };
}
