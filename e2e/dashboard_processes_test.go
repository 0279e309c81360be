//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// holder writes a program with a name of its own that holds this many MiB until it is killed.
func (w *world) holder(name string, mib int) string {
	w.t.Helper()
	python, err := exec.Command("python3", "-c", "import os, sys; print(os.path.realpath(sys.executable), end='')").Output() // not a script of pyenv
	if err != nil {
		w.t.Skipf("there is no python3: %v", err)
	}
	link := filepath.Join(w.work, name)
	if err := os.Symlink(string(python), link); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf(`%q -c 'import time; a = bytearray(b"x") * (%d << 20); time.sleep(600)'`, link, mib)
}

// TestMemoryByProcessOnThePage: who held the memory of a run, over time and in words, while it lives and when it has ended.
func TestMemoryByProcessOnThePage(t *testing.T) {
	w := newWorld(t)
	address := w.dashboard() // before the browser, which must not see it end
	b := openTab(t)
	b.do(chromedp.Navigate(address))
	script := w.holder("indexer", 60) + " &\nsleep 1\n" + w.holder("compiler", 90) + " &\nwait"
	run := w.command("run", "--quiet", "--tool", "builds", "--memory-max", "400M", "--", "sh", "-c", script)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Process.Kill(); _ = run.Wait() }()
	b.shows("builds", "running")
	b.run(`document.querySelector("[data-run] a.name").click()`)
	b.shows("Memory by process", "indexer", "compiler", "all, with what they share", "At its highest")

	type page struct {
		Card, Canvas struct{ Width, Height float64 }
		Legend       string
		Highest      string
	}
	see := func() (p page) {
		text := value[string](b, `(() => { const card = [...document.querySelectorAll(".chart")].find((c) => c.querySelector("h3").textContent === "Memory by process"), canvas = card.querySelector("canvas");
			const size = (e) => ({ Width: e.getBoundingClientRect().width, Height: e.getBoundingClientRect().height });
			return JSON.stringify({ Card: size(card), Canvas: size(canvas), Legend: card.querySelector(".u-legend").innerText, Highest: [...document.querySelectorAll("dt")].find((d) => d.textContent === "At its highest")?.nextSibling.textContent ?? "" }); })()`)
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	wait.Until(t, "both hold their memory on the page", func() bool {
		p := see()
		return strings.Contains(p.Highest, "compiler 9") && strings.Contains(p.Highest, "indexer 6")
	}, func() string { return fmt.Sprintf("%+v", see()) })
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 860))
		wait.Until(t, "the chart fills its card", func() bool {
			p := see()
			return p.Canvas.Width > p.Card.Width*0.85 && p.Canvas.Width <= p.Card.Width && p.Canvas.Height >= 180
		}, func() string { return fmt.Sprintf("%d wide: %+v", width, see()) })
	}
	b.do(chromedp.EmulateViewport(1280, 860))
	b.look("run-processes")

	_ = run.Process.Kill() // its plimsoll: what was written stays
	_ = run.Wait()
	out, err := w.command("runs", "last").Output()
	if err != nil || !strings.Contains(string(out), "at its peak") || !strings.Contains(string(out), "compiler 9") {
		t.Errorf("plimsoll runs last: %v\n%s", err, out)
	}
	var kept struct {
		ByProcess struct {
			AtMS  []int64 `json:"at_ms"`
			Names []struct {
				Name  string
				Bytes []int64
			}
		} `json:"by_process"`
	}
	if out, err = w.command("runs", "last", "--json").Output(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &kept); err != nil || len(kept.ByProcess.Names) < 2 || kept.ByProcess.Names[0].Name != "compiler" ||
		len(kept.ByProcess.Names[0].Bytes) != len(kept.ByProcess.AtMS) {
		t.Errorf("%v in %.400s", err, out)
	}
}
