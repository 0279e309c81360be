//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// restless is a command whose memory and processor time are never the same twice.
const restless = `import time
keep = []
for n in range(100000):
    keep = bytearray((8 + 8 * (n % 6)) << 20)
    until = time.time() + 0.02 * (1 + n % 5)
    while time.time() < until: pass
    time.sleep(0.1)`

// watched has the page count the messages that it hears and what is taken out of its tables, its blocks and its navigation.
const watched = `(() => {
	window.heard = 0; window.removed = []; window.changed = 0;
	const ear = new BroadcastChannel("plimsoll"); ear.onmessage = () => heard++; window.ear = ear;
	window.eye = new MutationObserver((list) => { for (const m of list) {
		if (m.type !== "childList") { changed++; continue; }
		for (const n of m.removedNodes) if (n instanceof Element) removed.push(n.tagName + " " + (n.dataset.key ?? n.className));
	} });
	for (const box of [document.getElementById("nav"), document.getElementById("main")]) eye.observe(box, { childList: true, characterData: true, subtree: true });
})()`

// hears waits until the page has heard n more messages.
func (b *tab) hears(n int) {
	b.t.Helper()
	most := value[int](b, `heard`) + n
	wait.Until(b.t, "the page hears of the runs", func() bool { return value[int](b, `heard`) >= most })
}

// slowClick presses the button of the mouse over an element, and releases it when two more messages have come: half a second later and more.
func (b *tab) slowClick(selector string) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(); return [r.left + Math.min(r.width, 20) / 2, r.top + r.height / 2]; })()`, selector))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.hears(2)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// TestDashboardUnderTheHand: beside runs that live, start and end, a slow click hits what it was on, and what has the focus and what is
// selected stay so. Rows and navigation are changed in place.
func TestDashboardUnderTheHand(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"first", "second"} {
		if out, err := w.command("run", "--quiet", "--enforcement", "off", "--tool", name, "--", "true").CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	address := w.dashboard() // before the browser, which must not see it end
	b := openTab(t)
	b.do(chromedp.Navigate(address))
	for _, name := range []string{"restless", "nervous"} {
		lives := w.command("run", "--quiet", "--memory-max", "300M", "--tool", name, "--", "python3", "-c", restless)
		if err := lives.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lives.Process.Kill(); _ = lives.Wait() }()
	}
	b.shows("restless", "nervous", "first", "second")
	wait.Until(t, "both have been measured", func() bool {
		return value[int](b, `[...document.querySelectorAll("[data-run]")].filter(e => e.innerText.includes("running") && e.innerText.includes("MiB of")).length`) >= 2
	})
	b.shows("restless in work", "nervous in work") // their bands of the host's memory
	link := func(tool string) string {
		id := value[string](b, fmt.Sprintf(`[...document.querySelectorAll("tr[data-run]")].find(e => e.innerText.includes(%q)).dataset.run`, tool))
		return fmt.Sprintf(`tr[data-run=%q] a.name`, id)
	}
	ended, live := link("first"), link("restless")
	b.run(watched)

	// The focus is on a run that lives, the selection is the name of one that has ended.
	b.run(fmt.Sprintf(`document.querySelector(%q).focus(); getSelection().selectAllChildren(document.querySelector(%q))`, live, ended))
	stays := func(when string) {
		t.Helper()
		if !value[bool](b, fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, live)) {
			t.Errorf("%s the focus is on %s", when, value[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
		if got := value[string](b, `getSelection().toString()`); got != "first" {
			t.Errorf("%s %q is selected", when, got)
		}
	}
	b.hears(8)
	stays("after eight messages")
	if removed := value[[]string](b, `removed`); len(removed) > 0 {
		t.Errorf("while nothing begins or ends %d elements are taken out: %.300s", len(removed), strings.Join(removed, ", "))
	}
	if value[int](b, `changed`) < 8 {
		t.Errorf("in eight messages only %d texts have changed", value[int](b, `changed`))
	}

	// A run begins above them and ends among them.
	if out, err := w.command("run", "--quiet", "--enforcement", "off", "--tool", "passing", "--", "sleep", "2").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	passing := link("passing")
	wait.Until(t, "it has ended", func() bool {
		return value[bool](b, fmt.Sprintf(`document.querySelector(%q).closest("tr").classList.contains("ended")`, passing))
	})
	b.hears(2)
	stays("after a run has come and gone")
	for _, one := range value[[]string](b, `removed`) { // only its own row went down to those that have ended
		if !strings.Contains(passing, strings.TrimPrefix(one, "TR ")) && strings.HasPrefix(one, "TR ") || strings.HasPrefix(one, "A ") {
			t.Errorf("%s is taken out", one)
		}
	}

	b.run(`eye.disconnect()`)
	hits := 0
	for range 3 {
		b.slowClick(live)
		b.shows("Timeline", "restless")
		hits++
		b.slowClick(`#nav a[href="#/"]`)
		b.shows("nervous", "second")
		hits++
	}
	t.Logf("%d of 6 slow clicks hit", hits)

	// The same on the page of a run.
	b.slowClick(live)
	b.shows("Timeline", "restless", "charged")
	b.run(`ear.close(); ` + watched)
	b.run(`document.querySelector("#nav a[href='#/alerts']").focus(); getSelection().selectAllChildren(document.querySelector("h1"))`)
	title := value[string](b, `getSelection().toString()`)
	b.hears(6)
	if got := value[string](b, `getSelection().toString() + document.activeElement.getAttribute("href")`); got != title+"#/alerts" {
		t.Errorf("on the page of a run the selection and the focus are %q", got)
	}
	if removed := value[[]string](b, `removed.filter(e => !e.startsWith("TR"))`); len(removed) > 0 {
		t.Errorf("on the page of a run %d elements are taken out: %.300s", len(removed), strings.Join(removed, ", "))
	}
}
