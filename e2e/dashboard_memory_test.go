//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// TestMemoryInABrowser: the page of the memory is searched, tells where a record comes from and gives the command that forgets it, which
// then does; what agents and tools have written stays text.
func TestMemoryInABrowser(t *testing.T) {
	w := newWorld(t)
	remembered := func(argv ...string) {
		t.Helper()
		if got := w.run(nil, append([]string{plimsoll, "memory"}, argv...)...); got.status != 0 {
			t.Fatalf("%q: %d %s%s", argv, got.status, got.stdout, got.stderr)
		}
	}
	remembered("add", "The harbour of Halcyon opens at six in the morning.")
	remembered("pin", "Answer in English, with short sentences.")
	store, err := memory.Open(memory.Options{Dir: filepath.Join(w.state, "memory")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const evil = `<script>document.title = "owned"; console.error(1)</script><img src=x onerror=console.error(2)><a href="javascript:console.error(3)">harbour</a>`
	added, err := store.Add(t.Context(),
		memory.Record{Namespace: "project/x", Origin: memory.OriginTool, Text: evil + " \x1b[31mred\x1b[0m \u202eskrow", Source: memory.Source{Client: evil[:60], Tool: evil[:60], Conversation: evil[:60], Turn: 3, Role: "user"}},
		memory.Record{Namespace: "project/x", Origin: memory.OriginAgent, Text: "The crane of the harbour is called Gustav. " + strings.Repeat("It was painted again, and again. ", 40), Source: memory.Source{Client: "claude", Conversation: "7f3a", Turn: 4, Role: "assistant"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(t.Context(), memory.Record{Kind: memory.KindNote, Namespace: "project/x", Origin: memory.OriginAgent, Text: "A note on the crane", From: added.IDs[1:]}); err != nil {
		t.Fatal(err)
	}
	for n := range 60 {
		if _, err := store.Add(t.Context(), memory.Record{Namespace: "project/x", Origin: memory.OriginAgent, Text: fmt.Sprintf("Log entry %d says nothing.", n)}); err != nil {
			t.Fatal(err)
		}
	}
	crane, err := store.Get(t.Context(), added.IDs[1], 0)
	if err == nil {
		err = store.RecordUse(t.Context(), memory.Use{How: memory.UseSearch, Client: evil[:60], Conversation: "<b>talk</b>"}, crane...)
	}
	if err != nil {
		t.Fatal(err)
	}

	address := w.dashboard() // before the browser, which must not see it end
	b := openTab(t)
	b.do(chromedp.Navigate(address))
	b.run(`location.hash = "#/memory"`)
	b.shows("50 of 65 records", "Log entry 59", "Namespaces", "Answer in English")
	b.look("memory")

	search := func(words string) {
		b.run(fmt.Sprintf(`document.querySelector("main input[type=search]").value = %q; document.querySelector("main form").requestSubmit()`, words))
	}
	search("which crane is in the harbour")
	b.shows("found for", "Gustav")
	first := fmt.Sprintf(`document.querySelector('[data-record="%s"]')`, added.IDs[1])
	b.run(first + `.querySelector("summary").click()`)
	b.shows("plimsoll memory forget "+added.IDs[1], "plimsoll memory not "+added.IDs[1], "an agent's: a model", "7f3a, turn 4", "A note on the crane", "found by a search", "<b>talk</b>")
	b.run(fmt.Sprintf(`document.querySelector('[data-record="%s"] summary').click()`, added.IDs[0]))
	b.shows("plimsoll memory forget "+added.IDs[0], "a tool's: a result", "onerror=console.error(2)")
	b.look("memory-search")
	// The page goes on to keep up, and takes nothing of this away.
	if _, err := store.Add(t.Context(), memory.Record{Namespace: "project/late", Origin: memory.OriginAgent, Text: "Something new."}); err != nil {
		t.Fatal(err)
	}
	b.shows("project/late", "found for", "plimsoll memory forget "+added.IDs[1])
	b.run(first + `.querySelector("button.copy").click()`)
	wait.Until(t, "the command is copied", func() bool {
		copied := value[string](b, first+`.querySelector("button.copy").textContent`)
		if copied == "" {
			t.Fatal("there is no button")
		}
		return copied == "Copied" || copied == "Selected: copy it"
	})
	if got := value[string](b, `document.title + [...document.querySelectorAll("main img, main script, main b, main a[href^=javascript]")].length`); got != "Memory · Plimsoll0" {
		t.Errorf("what was written became markup: %s", got)
	}
	if text := b.text(); strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("escapes come as they are")
	}
	search("zebra")
	b.shows("Nothing is remembered that has one of these words.")
	b.run(`document.querySelector("main input[type=search]").value = ""; document.querySelector("main select[name=origin]").value = "tool"; document.querySelector("main select[name=origin]").dispatchEvent(new Event("change"))`)
	b.shows("1 of 1 records", "onerror=console.error(2)")

	// The command of the page does what it says, and the page shows it.
	b.run(`document.querySelector("main details").open = true`)
	b.shows("plimsoll memory forget " + added.IDs[0])
	command := value[string](b, `[...document.querySelectorAll("main details code")].map(e => e.textContent).find(t => t.startsWith("plimsoll memory forget"))`)
	remembered(append(strings.Fields(command)[2:], "--yes")...)
	b.run(`document.querySelector("main select[name=origin]").value = ""; document.querySelector("main select[name=origin]").dispatchEvent(new Event("change"))`)
	search("harbour")
	b.shows("Halcyon", "Gustav")
	if strings.Contains(b.text(), "onerror") {
		t.Error("what was forgotten still shows")
	}
}
