//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"image/png"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// browser is a real Chromium, which runs these tests: the one that is named, or the system's.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PLIMSOLL_E2E_BROWSER"), "chromium-headless-shell", "chromium", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: apt-get install chromium-headless-shell")
	return ""
}

// screens is where screenshots are kept for a look.
func screens(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "out", "screens")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tab is a browser with one page open.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// openTab starts a browser. Whatever the console says of warnings and errors is a failure.
func openTab(t *testing.T, more ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	path := browser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 860))
	options = append(options, more...)
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // starts it
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx}
	b.listen()
	return b
}

// listen makes a failure of what the console says.
func (b *tab) listen() {
	messages := chromedp.Console(b.ctx)
	var mu sync.Mutex
	var bad []string
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" {
				mu.Lock()
				bad = append(bad, m.String()+" "+m.URL)
				mu.Unlock()
			}
		}
	}()
	b.t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range bad {
			b.t.Errorf("the console: %s", line)
		}
	})
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value is what an expression comes to in the page.
func value[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// run runs an expression for what it does.
func (b *tab) run(expression string) {
	b.t.Helper()
	value[chromedp.Void](b, expression)
}

// text is what the page shows.
func (b *tab) text() string {
	b.t.Helper()
	return value[string](b, `document.body.innerText`)
}

// shows waits until the page shows all of some texts, and says how long that took.
func (b *tab) shows(texts ...string) time.Duration {
	b.t.Helper()
	began, text := time.Now(), ""
	wait.Until(b.t, fmt.Sprintf("the page shows %q", texts), func() bool {
		text = b.text()
		return !slices.ContainsFunc(texts, func(want string) bool { return !strings.Contains(text, want) })
	}, func() string { return fmt.Sprintf("%.3000s", text) })
	return time.Since(began)
}

// look keeps a picture of the whole page, in light and dark and as wide as a phone, and has axe-core look at each.
func (b *tab) look(name string) {
	b.t.Helper()
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		if os.Getenv("CI") == "true" {
			b.t.Fatal(err)
		}
		b.t.Logf("axe-core does not look at it: %v (npm ci --prefix e2e)", err)
	}
	for _, c := range []struct {
		kind, scheme string
		width        int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "light", 390}} {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: c.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		if err == nil {
			err = chromedp.Do(ctx, chromedp.EmulateViewport(c.width, 860), chromedp.Sleep(150*time.Millisecond))
		}
		var picture []byte
		if err == nil {
			picture, err = chromedp.Run(ctx, chromedp.FullScreenshot(100))
		}
		cancel()
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(screens(b.t), name+"-"+c.kind+".png"), picture, 0o644); err != nil {
			b.t.Fatal(err)
		}
		if value[bool](b, `document.documentElement.scrollWidth > innerWidth + 1`) {
			b.t.Errorf("%s, %s: the page is wider than its window: %s", name, c.kind, value[string](b, `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className).slice(0, 6).join(" ")`))
		}
		if source == nil {
			continue
		}
		b.run(string(source))
		found := value[string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html.slice(0, 160)).join(" | "))))`, chromedp.EvalAwaitPromise)
		if found != "[]" {
			b.t.Errorf("%s, %s: axe-core finds %s", name, c.kind, found)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 860))
}

// dashboard starts `plimsoll watch` and gives its address with the token.
func (w *world) dashboard() string {
	w.t.Helper()
	cmd := exec.Command(plimsoll, "watch")
	cmd.Dir, cmd.Env = w.work, w.environment()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("plimsoll watch ends with %v", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(plimsoll, args...)
	cmd.Dir, cmd.Env = w.work, w.environment()
	return cmd
}

// TestDashboardInABrowser: runs appear, change and end on the page without its being loaded again, and every page is fit to be looked at.
func TestDashboardInABrowser(t *testing.T) {
	w := newWorld(t)
	w.variables = append(w.variables, "PLIMSOLL_MCP_ARGOCD_SIMULATOR=30,3,3,1")
	evil := `<img src=x onerror=console.error(1)>`
	if err := os.Mkdir(filepath.Join(w.work, evil), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := w.command("run", "--quiet", "--enforcement", "off", "--tool", "earlier", "--", "sh", "-c", "exit 3", evil, "--token", "hidden-from-all")
	cmd.Dir = filepath.Join(w.work, evil)
	_ = cmd.Run()
	if out, err := w.command("ask", "--quiet", "--model", "standin", "list all applications").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}

	address := w.dashboard() // before the browser, which must not see it end
	b := openTab(t)
	b.do(chromedp.Navigate(address))
	b.shows("earlier", "exit status 3", "ask", "free")
	where, cookies := value[string](b, `location.href`), value[string](b, `document.cookie`)
	if strings.Contains(where, "token") || cookies != "" {
		t.Errorf("the address is %s, scripts see the cookies %q", where, cookies)
	}

	// It keeps what it has, as a build does: where no kernel layer is, the tree is looked at only twice a second.
	lives := w.command("run", "--quiet", "--tool", "greedy", "--memory-max", "200M", "--", "sh", "-c",
		`sleep 3; python3 -c 'import time; a = bytearray(400 << 20); time.sleep(60)'; sleep 600`)
	if err := lives.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lives.Process.Kill(); _ = lives.Wait() }()
	took := b.shows("greedy", "running")
	t.Logf("a new run shows after %s", took.Round(10*time.Millisecond))
	b.look("runs")
	b.run(`document.querySelector("[data-run] a.name").click()`)
	b.shows("Killed", "python3", "Memory")
	b.look("run-live")
	detail := value[string](b, `location.hash`)
	b.run(`location.hash = "#/ledger"`)
	b.shows("Processes of greedy", "sleep", "200 MiB")
	b.look("ledger-live")
	_ = lives.Process.Signal(syscall.SIGTERM)
	_ = lives.Wait()
	b.shows("Nobody holds") // of itself
	b.run(fmt.Sprintf(`location.hash = %q`, detail))
	b.shows("ended", "SIGTERM")
	b.look("run-ended")

	for _, page := range []struct{ name, shows string }{{"alerts", "killed for memory"}, {"mcp", "argocd"}, {"agents", "completed"}, {"ledger", "Nobody holds"}} {
		b.run(fmt.Sprintf(`location.hash = "#/%s"`, page.name))
		if page.name == "agents" {
			b.shows("Tokens in", "argocd")
		} else {
			b.shows(page.shows)
		}
		b.look(page.name)
	}
	if text := b.text(); strings.Contains(text, "hidden-from-all") {
		t.Error("a credential shows")
	}
	b.run(`location.hash = "#/"`)
	b.shows("earlier")
	if value[int](b, `document.querySelectorAll("main img").length`) != 0 {
		t.Error("what a project is called became markup")
	}
}

// TestEightTabsAtOnce: all of them see the same, and one more start of a run.
func TestEightTabsAtOnce(t *testing.T) {
	w := newWorld(t)
	address := w.dashboard() // before the browser, which must not see it end
	first := openTab(t)
	first.do(chromedp.Navigate(address))
	page := value[string](first, "location.origin + location.pathname") // the cookie is for that path
	tabs := []*tab{first}
	for range 7 {
		ctx, cancel := chromedp.NewContext(first.ctx)
		t.Cleanup(cancel)
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // opens it
			t.Fatal(err)
		}
		b := &tab{t: t, ctx: ctx}
		b.listen()
		b.do(chromedp.Navigate(page))
		tabs = append(tabs, b)
	}
	if err := w.command("run", "--quiet", "--enforcement", "off", "--tool", "everywhere", "--", "true").Run(); err != nil {
		t.Fatal(err)
	}
	for _, b := range tabs {
		b.shows("everywhere")
	}
}

// TestDashboardOverTLS: the daemon's own dashboard, by the address that is told, with a cookie that no plain connection gets.
func TestDashboardOverTLS(t *testing.T) {
	browser(t)
	w := newWorld(t)
	certificate, key := selfSigned(t)
	write(t, fmt.Sprintf("[serve]\ntls_cert = %q\ntls_key = %q\n", certificate, key), w.state, "config.toml")
	ready := filepath.Join(t.TempDir(), "ready")
	w.background(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	w.until("the daemon is ready", func() bool {
		text, _ := os.ReadFile(ready)
		return len(text) > 0
	})
	address, err := w.command("watch", "--url").Output()
	if err != nil || !strings.HasPrefix(string(address), "https://127.0.0.1:") {
		t.Fatalf("%s, %v", address, err)
	}
	b := openTab(t, chromedp.Flag("ignore-certificate-errors", true))
	b.do(chromedp.Navigate(strings.TrimSpace(string(address))))
	b.shows("serve", "free")
	if where := value[string](b, `location.protocol + location.search`); where != "https:" {
		t.Errorf("the page is at %s", where)
	}
	_ = chromedp.Do(b.ctx, chromedp.Navigate("about:blank"))
}

// selfSigned writes a certificate for 127.0.0.1, and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	body, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: body}, "key.pem": {Type: "PRIVATE KEY", Bytes: encoded}} {
		testfile.Write(t, filepath.Join(dir, name), pem.EncodeToMemory(block))
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// picture is what README or a guide shows of a page, docs/NAME.png; PLIMSOLL_E2E_PICTURE=1 takes it anew. Else it is kept beside the
// screenshots, and the one in the guide must be as large.
func (b *tab) picture(name string) {
	b.t.Helper()
	taken, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(screens(b.t), name+".png"), taken, 0o644); err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join("..", "docs", name+".png")
	if os.Getenv("PLIMSOLL_E2E_PICTURE") != "" {
		if err := os.WriteFile(file, taken, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	shown, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	was, err1 := png.DecodeConfig(bytes.NewReader(shown))
	is, err2 := png.DecodeConfig(bytes.NewReader(taken))
	if err1 != nil || err2 != nil || was.Width != is.Width || was.Height != is.Height {
		b.t.Errorf("%s is %dx%d (%v), what is to be seen now is %dx%d (%v): PLIMSOLL_E2E_PICTURE=1 takes it anew", file, was.Width, was.Height, err1, is.Width, is.Height, err2)
	}
}

// TestTheDemoStays: the demo ends with a dashboard of what it did, and Ctrl-C leaves nothing.
func TestTheDemoStays(t *testing.T) { // not beside others: where processors are few, the child takes its memory before it is marked
	w := newWorld(t)
	temp, err := os.MkdirTemp("", "") // its name is on the picture
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	cmd := w.command("demo", "--stay", "--no-questions")
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the demo ends with %v", err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("the demo leaves %v, %v", left, err)
		}
		w.nothingLeft()
	}
	t.Cleanup(end)
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if i := strings.Index(lines.Text(), "http://127.0.0.1:"); i >= 0 && strings.Contains(lines.Text(), "token=") {
			address = lines.Text()[i:]
		}
	}
	if address == "" {
		t.Fatal("the demo gives no address")
	}
	b := openTab(t)
	b.do(chromedp.Navigate(address))
	b.shows("demo-agent") // it leads to the page of the run
	b.shows("Killed", "build", "Memory", "Timeline", "The conversation was shortened", "Largest results", "flood", "result_page")
	b.look("demo")
	b.picture("dashboard")
	b.run(`location.hash = "#/agents"`)
	b.shows("Tasks over A2A", "Questions", "completed")
	b.picture("dashboard-agents")
	b.look("tasks")
	b.run(`location.hash = "#/mcp"`)
	b.shows("flood", "19.4 MiB")
	b.look("mcp-demo")
	_ = chromedp.Do(b.ctx, chromedp.Navigate("about:blank"))
	end()
}
