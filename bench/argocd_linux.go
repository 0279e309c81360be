package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
)

// argocdTask is the same question to both. A task with walk reads all pages.
type argocdTask struct {
	name         string
	tool         string // the same of both, except with other
	ours, theirs map[string]any
	other        string // the tool of argocd-mcp, where it has another name
	walk         bool
}

// argocdToken is the token that both servers must send.
const argocdToken = "bench-of-two-servers"

// argocdBench measures the Argo CD tools against argocd-mcp, in turn on one simulated installation. args are its size. Without Node.js or
// argocd-mcp it stops.
func argocdBench(o *Out, args []string) {
	const installed = "e2e/mcp/node_modules/"
	script := installed + "argocd-mcp/dist/index.js"
	if _, err := os.Stat(script); err != nil {
		o.Fatalf("the baseline is not here (%w): npm ci --prefix e2e/mcp", err)
	}
	node := installed + ".bin/node"
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			o.Fatalf("argocd-mcp needs Node.js: %w", err)
		}
	}
	options := must(simulator.ParseSize(strings.Join(args, "")))
	options.Token = argocdToken
	sim := must(simulator.New(options))
	server := httptest.NewServer(sim)
	defer server.Close()

	dir := o.build("cmd/plimsoll")
	plimsoll := []string{filepath.Join(dir, "plimsoll"), "mcp", "argocd", "--quiet"}
	env := []string{"ARGOCD_SERVER=" + server.URL, "ARGOCD_AUTH_TOKEN=" + argocdToken}
	ours := &argocdFigures{env: env, argv: plimsoll, ours: true}
	kept := &argocdFigures{env: env, argv: append(plimsoll, "--snapshot-ttl", "1m"), ours: true}
	theirs := &argocdFigures{env: []string{"ARGOCD_BASE_URL=" + server.URL, "ARGOCD_API_TOKEN=" + argocdToken}, argv: []string{node, script, "stdio"}}
	tasks := argocdTasks(anApplication(server.URL))
	const rounds = 3
	for range rounds {
		// In turn, so that what else the machine does meets all of them.
		for _, f := range []*argocdFigures{ours, kept, theirs} {
			f.measure(o, dir, tasks)
		}
	}
	for i, task := range tasks {
		t := theirs.answers[i]
		for _, way := range []struct {
			name string
			f    *argocdFigures
		}{{"", ours}, {", --snapshot-ttl 1m", kept}} {
			if way.f == kept && !task.walk {
				continue
			}
			m := way.f.answers[i]
			o.Add(Row{Case: task.name + way.name, Metric: "delivered", Value: float64(m.bytes), Unit: "bytes", Baseline: "argocd-mcp", BaselineValue: float64(t.bytes)})
			o.Add(Row{Case: task.name + way.name, Metric: "time p50", Value: ms(median(m.took)), Unit: "ms", Baseline: "argocd-mcp", BaselineValue: ms(median(t.took))})
		}
	}
	o.Add(Row{Case: "all of it", Metric: "RssAnon peak", Value: mib(ours.anon), Unit: "MiB", Baseline: "argocd-mcp", BaselineValue: mib(theirs.anon)})
	o.Add(Row{Case: "all of it", Metric: "VmHWM", Value: mib(ours.rss), Unit: "MiB", Baseline: "argocd-mcp", BaselineValue: mib(theirs.rss)})
	n := sim.Counts()
	o.Note("%d applications, %d projects, %d application sets, %d clusters; %d rounds in turn; times are medians. The simulator runs in this program, and is a part of every time.", n.Applications, n.Projects, n.ApplicationSets, n.Clusters, rounds)
	o.Note("argocd-mcp has no totals, no search (its argument does nothing: all applications come) and no projects, application sets; so for \"every application\" it needs one call and plimsoll all pages, and for \"search\" it delivers everything.")
}

// argocdTasks returns the questions to ask. name is the name of an application.
func argocdTasks(name string) []argocdTask {
	one := map[string]any{"applicationName": name}
	return []argocdTask{
		{name: "list, as one calls it", tool: "list_applications"},
		{name: "list of 20", tool: "list_applications", ours: map[string]any{"page_size": 20}, theirs: map[string]any{"limit": 20}},
		{name: "every application", tool: "list_applications", walk: true},
		{name: "search", tool: "search_argocd_resources", other: "list_applications", ours: map[string]any{"query": "payment"}, theirs: map[string]any{"search": "payment"}},
		{name: "one application", tool: "get_application_details", other: "get_application", ours: map[string]any{"name": name}, theirs: one},
		{name: "its resource tree", tool: "get_application_resource_tree", ours: map[string]any{"name": name}, theirs: one},
	}
}

// anApplication returns the name of one in the middle of the list.
func anApplication(address string) string {
	r := must(http.NewRequest(http.MethodGet, address+"/api/v1/applications?fields=items.metadata.name,items.metadata.namespace", nil))
	r.Header.Set("Authorization", "Bearer "+argocdToken)
	resp := must(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	check(json.NewDecoder(resp.Body).Decode(&list))
	for i := range list.Items {
		if m := list.Items[(i+len(list.Items)/2)%len(list.Items)].Metadata; m.Namespace == "argocd" {
			return m.Name
		}
	}
	check(errors.New("the simulated installation has no application in the namespace argocd"))
	return ""
}

// argocdFigures are of one server.
type argocdFigures struct {
	argv, env []string
	ours      bool
	answers   []argocdAnswer // as the tasks
	anon, rss int64          // the highest of all rounds
}

type argocdAnswer struct {
	bytes int // as they come over the wire
	took  []time.Duration
}

// measure starts the server, asks all questions once, notes times, sizes and memory in f, and ends the server. A question that fails stops
// the benchmark.
func (f *argocdFigures) measure(o *Out, dir string, tasks []argocdTask) {
	c := o.startRaw(dir, f.argv, f.env...)
	defer c.stop()
	stop := watchPeaks(c.cmd.Process.Pid)
	defer func() {
		anon, rss := stop()
		f.anon, f.rss = max(f.anon, anon), max(f.rss, rss)
	}()
	if f.answers == nil {
		f.answers = make([]argocdAnswer, len(tasks))
	}
	for i, task := range tasks {
		tool, args := task.tool, task.ours
		if !f.ours {
			tool, args = cmp.Or(task.other, task.tool), task.theirs
		}
		begin := time.Now()
		bytes, err := c.callPages(tool, args, f.ours && task.walk)
		if err != nil {
			o.Fatalf("%v: %s: %w", f.argv, task.name, err)
		}
		f.answers[i].bytes = bytes
		f.answers[i].took = append(f.answers[i].took, time.Since(begin))
	}
}

// callPages calls a tool, with walk again for each further page. It returns the bytes of all answers.
func (c *rawClient) callPages(tool string, args map[string]any, walk bool) (total int, err error) {
	ask := map[string]any{}
	maps.Copy(ask, args)
	for page := 1; ; page++ {
		if walk {
			ask["page"] = page
			ask["fresh"] = page == 1 // a snapshot of the tasks before does not count
		}
		if err := c.send(tool, ask); err != nil {
			return total, err
		}
		line, err := c.readAnswer(math.MaxInt)
		if err != nil {
			return total, err
		}
		total += len(line)
		more, err := hasNext(line)
		if err != nil || !walk || !more {
			return total, err
		}
	}
}

// hasNext reports whether the result of a tool is a page with another after it.
func hasNext(line []byte) (bool, error) {
	var m struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return false, fmt.Errorf("a line of the server: %w: %.200s", err, line)
	}
	switch {
	case len(m.Result.Content) == 0:
		return false, fmt.Errorf("an answer without content: %.200s", line)
	case m.Result.IsError:
		return false, fmt.Errorf("the tool says: %.300s", m.Result.Content[0].Text)
	}
	var p struct {
		Pagination struct {
			HasNext bool `json:"has_next"`
		}
	}
	_ = json.Unmarshal([]byte(m.Result.Content[0].Text), &p) // only pages have it
	return p.Pagination.HasNext, nil
}
