package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const rules = "../deploy/prometheus/plimsoll.rules"

// inTheRepository skips what reads the repository's files: in a throw-away machine only the tests are there.
func inTheRepository(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Dir(rules)); err != nil {
		t.Skip("the repository's files are not here:", err)
	}
}

// Each alert has three tests for promtool and a paragraph in the guide.
func TestAlertsAreTestedAndExplained(t *testing.T) {
	inTheRepository(t)
	file := func(name string) string {
		text := testfile.Read(t, name)
		return string(text)
	}
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(file(rules+".yml"), -1)
	tests, guide := file(rules+"_test.yml"), file("../docs/alerts.md")
	if len(alerts) < 10 {
		t.Errorf("only %d alerts", len(alerts))
	}
	for _, a := range alerts {
		name := a[1]
		if n := strings.Count(tests, "- name: "+name+" "); n < 3 {
			t.Errorf("%s has %d tests", name, n)
		}
		_, paragraph, _ := strings.Cut(guide, "\n### "+name+"\n\n")
		if paragraph, _, _ = strings.Cut(paragraph, "\n###"); len(paragraph) < 80 {
			t.Errorf("docs/alerts.md does not say what %s means", name)
		}
		// The address can be opened where the alert arrives, and leads to that paragraph.
		address := `runbook: "https://github.com/plimsoll/plimsoll/blob/main/docs/alerts.md#` + strings.ToLower(name) + `"`
		_, rule, _ := strings.Cut(file(rules+".yml"), "- alert: "+name+"\n")
		if rule, _, _ = strings.Cut(rule, "- alert: "); !strings.Contains(rule, address) {
			t.Errorf("%s has no %s", name, address)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(guide, -1) {
		if !strings.Contains(file(rules+".yml"), "alert: "+heading[1]+"\n") {
			t.Errorf("docs/alerts.md explains %s, which is no alert", heading[1])
		}
	}
	// What they go by is what is written.
	metrics := file("../docs/metrics.md")
	for _, name := range regexp.MustCompile(`\bplimsoll_[a-z_]+`).FindAllString(file(rules+".yml"), -1) {
		name = strings.TrimSuffix(name, "_bucket")
		if !strings.Contains(metrics, "| `"+name+"` |") {
			t.Errorf("the rules use %s, which docs/metrics.md does not list", name)
		}
	}
}

// prometheusTool is a program of Prometheus, which runs these tests.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install prometheus", name)
	}
	return path
}

func TestAlertsFireAndStayQuiet(t *testing.T) {
	long(t, "it waits for alerts")
	inTheRepository(t)
	promtool := prometheusTool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", rules + ".yml"}, {"test", "rules", rules + "_test.yml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	// The tests see a rule that is wrong.
	dir := t.TempDir()
	for _, change := range [][2]string{{">= 0.9", ">= 0.95"}, {" unless ", " and "}} {
		if err := os.CopyFS(dir+"/"+change[1], os.DirFS("../deploy/prometheus")); err != nil {
			t.Fatal(err)
		}
		name := dir + "/" + change[1] + "/plimsoll.rules.yml"
		text := testfile.Read(t, name)
		testfile.Write(t, name, strings.ReplaceAll(string(text), change[0], change[1]))
		if out, err := exec.Command(promtool, "test", "rules", dir+"/"+change[1]+"/plimsoll.rules_test.yml").CombinedOutput(); err == nil {
			t.Errorf("with %q for %q the tests pass:\n%s", change[1], change[0], out)
		}
	}
}

// graphs is the dashboard for Grafana, as far as these tests read it.
type graphs struct {
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr string }
	}
}

func grafana(t *testing.T) (g graphs, text []byte) {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana/plimsoll.json")
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g, text
}

// The dashboard is what its program writes, no panel covers another, and it asks for metrics that exist.
func TestGrafanaDashboardIsWhole(t *testing.T) {
	inTheRepository(t)
	g, text := grafana(t)
	written, err := exec.Command("go", "run", "../deploy/grafana").Output()
	if err != nil {
		t.Skip("there is no Go to write it with:", err)
	}
	if !bytes.Equal(written, text) {
		t.Error("deploy/grafana/plimsoll.json is not what go run ./deploy/grafana writes")
	}
	taken := map[[2]int]string{}
	metrics := testfile.Read(t, "../docs/metrics.md")
	for _, p := range g.Panels {
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, is := taken[cell]; is || cell[0] >= 24 {
					t.Fatalf("%q covers %q at %v", p.Title, other, cell)
				}
				taken[cell] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%q has %d queries", p.Title, len(p.Targets))
		}
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(plimsoll|gen_ai|mcp)_[a-z_]+`).FindAllString(regexp.MustCompile(`by \([^)]*\)`).ReplaceAllString(target.Expr, ""), -1) {
				if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(string(metrics), "| `"+name+"` |") {
					t.Errorf("%q asks for %s, which docs/metrics.md does not list", p.Title, name)
				}
			}
		}
	}
}

// A real Prometheus scrapes a real daemon while there is work, and every query of the dashboard and of the alerts has an answer.
func TestEveryPanelHasData(t *testing.T) {
	inTheRepository(t)
	program := prometheusTool(t, "prometheus")
	w := newWorld(t)
	w.variables = append(w.variables, "PLIMSOLL_MCP_ARGOCD_SIMULATOR=30,3,3,1")
	provider := httptest.NewServer(scripted.New(scripted.Options{Window: 3000, Lenient: true}))
	t.Cleanup(provider.Close)
	write(t, fmt.Sprintf("[upstream]\nanthropic = %q\n[window]\nmax_tokens = 9000\n[mcp.servers.notes]\ncommand = [%q]\n",
		provider.URL, misbehaving(t)), w.state, "config.toml")
	ready := filepath.Join(t.TempDir(), "ready")
	w.background(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	url := ""
	w.until("the daemon is ready", func() bool {
		text, _ := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return url != ""
	})
	rulesFile, err := filepath.Abs(rules + ".yml")
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), freePort(t)
	write(t, fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n  - job_name: plimsoll\n    static_configs: [{targets: [%q]}]\n",
		rulesFile, strings.TrimPrefix(url, "http://")), dir, "prometheus.yml")
	w.background(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	prometheus := "http://" + address
	w.until("Prometheus is ready", func() bool {
		r, err := http.Get(prometheus + "/-/ready")
		if err == nil {
			r.Body.Close()
		}
		return err == nil && r.StatusCode == http.StatusOK
	})
	work := func() {
		body := `{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"` + strings.Repeat("look at this ", 400) + `"}]}`
		r, err := http.Post(url+"/anthropic/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp/notes"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "big", Arguments: map[string]any{"bytes": 300_000, "kind": "json"}}); err != nil {
			t.Error(err)
		}
	}
	ask := func(expr string) (series int, problem string) {
		expr = strings.NewReplacer("$__rate_interval", "1m", "$__range", "5m", "$tool", ".*", "$instance", ".*").Replace(expr)
		r, err := http.PostForm(prometheus+"/api/v1/query", neturl.Values{"query": {expr}})
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		var answer struct {
			Status, Error string
			Data          struct{ Result []struct{ Value [2]any } }
		}
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
			return 0, fmt.Sprint(err, answer.Error)
		}
		for _, one := range answer.Data.Result {
			if one.Value[1] != "NaN" {
				series++
			}
		}
		return series, ""
	}
	if out, err := w.command("ask", "--quiet", "--model", "standin", "list all applications").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	g, _ := grafana(t)
	missing := ""
	wait.Reached(wait.Bound, func() bool {
		work()
		_ = w.command("run", "--quiet", "--enforcement", "off", "--tool", "short", "--", "true").Run()
		missing = ""
		for _, p := range g.Panels {
			for _, target := range p.Targets {
				if n, problem := ask(target.Expr); n == 0 {
					missing += fmt.Sprintf("%s: %s %s\n", p.Title, target.Expr, problem)
				}
			}
		}
		return missing == ""
	})
	if missing != "" {
		t.Errorf("without data:\n%s", missing)
	}
	// The rules are evaluated without a complaint, and what has just happened (a result over 200 KB) fires.
	states := map[string]string{}
	w.until("the alert on large results fires", func() bool {
		r, err := http.Get(prometheus + "/api/v1/rules")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var loaded struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, State, LastError string }
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&loaded); err != nil {
			t.Fatal(err)
		}
		for _, group := range loaded.Data.Groups {
			for _, rule := range group.Rules {
				if states[rule.Name] = rule.State; rule.Health == "err" {
					t.Errorf("%s: %s", rule.Name, rule.LastError)
				}
			}
		}
		return states["PlimsollResultLarge"] == "firing"
	})
	if states["PlimsollDown"] != "inactive" || states["PlimsollAgentKilled"] != "inactive" {
		t.Errorf("%v", states)
	}
}
