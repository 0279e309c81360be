package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
)

func init() {
	register("argocd", "the Argo CD tools against argocd-mcp of npm, on one simulated installation (Linux; 1 min; argument: APPS,PROJECTS,APPSETS,CLUSTERS)", argocdBench)
}

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

func argocdBench(ctx context.Context, o *Out, args []string) error {
	const installed = "e2e/mcp/node_modules/"
	script := installed + "argocd-mcp/dist/index.js"
	if _, err := os.Stat(script); err != nil {
		return fmt.Errorf("the baseline is not here (%w): npm ci --prefix e2e/mcp", err)
	}
	node := installed + ".bin/node"
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			return fmt.Errorf("argocd-mcp needs Node.js: %w", err)
		}
	}
	size := ""
	if len(args) > 0 {
		size = args[0]
	}
	options, err := simulator.ParseSize(size)
	if err != nil {
		return err
	}
	options.Token = argocdToken
	sim, err := simulator.New(options)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	address := "http://" + l.Addr().String()

	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plimsoll := filepath.Join(dir, "plimsoll")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", plimsoll, "./cmd/plimsoll").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	name, err := anApplication(ctx, address)
	if err != nil {
		return err
	}
	ours := &argocdFigures{env: []string{"ARGOCD_SERVER=" + address, "ARGOCD_AUTH_TOKEN=" + argocdToken}, argv: []string{plimsoll, "mcp", "argocd", "--quiet"}}
	kept := &argocdFigures{env: ours.env, argv: []string{plimsoll, "mcp", "argocd", "--quiet", "--snapshot-ttl", "1m"}}
	theirs := &argocdFigures{env: []string{"ARGOCD_BASE_URL=" + address, "ARGOCD_API_TOKEN=" + argocdToken}, argv: []string{node, script, "stdio"}}
	all := []*argocdFigures{ours, kept, theirs}
	tasks := argocdTasks(name)
	const rounds = 3
	for range rounds {
		// In turn, so that what else the machine does meets all of them.
		for _, f := range all {
			if err := f.play(ctx, dir, tasks, f != theirs); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(f.argv, " "), err)
			}
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
	o.Add(Row{Case: "all of it", Metric: "RssAnon peak", Value: float64(ours.anon) / (1 << 20), Unit: "MiB", Baseline: "argocd-mcp", BaselineValue: float64(theirs.anon) / (1 << 20)})
	o.Add(Row{Case: "all of it", Metric: "VmHWM", Value: float64(ours.rss) / (1 << 20), Unit: "MiB", Baseline: "argocd-mcp", BaselineValue: float64(theirs.rss) / (1 << 20)})
	n := sim.Counts()
	o.Note("%d applications, %d projects, %d application sets, %d clusters; %d rounds in turn; times are medians. The simulator runs in this program, and is a part of every time.", n.Applications, n.Projects, n.ApplicationSets, n.Clusters, rounds)
	o.Note("argocd-mcp has no totals, no search (its argument does nothing: all applications come) and no projects, application sets; so for \"every application\" it needs one call and plimsoll all pages, and for \"search\" it delivers everything.")
	return nil
}

// argocdTasks returns the questions. name is of an application.
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
func anApplication(ctx context.Context, address string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/v1/applications?fields=items.metadata.name,items.metadata.namespace", nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+argocdToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return "", err
	}
	for i := range list.Items {
		if m := list.Items[(i+len(list.Items)/2)%len(list.Items)].Metadata; m.Namespace == "argocd" {
			return m.Name, nil
		}
	}
	return "", errors.New("the simulated installation has no application in the namespace argocd")
}

// argocdFigures are of one server.
type argocdFigures struct {
	argv, env []string
	answers   []argocdAnswer // as the tasks
	anon, rss int64          // the highest of all rounds
}

type argocdAnswer struct {
	bytes int // as they come over the wire
	took  []time.Duration
}

// play starts the server, asks everything once and ends it.
func (f *argocdFigures) play(ctx context.Context, dir string, tasks []argocdTask, ours bool) error {
	c, err := startRaw(ctx, dir, f.argv, f.env...)
	if err != nil {
		return err
	}
	defer c.stop()
	stop := f.watch(c.cmd.Process.Pid)
	defer stop()
	if f.answers == nil {
		f.answers = make([]argocdAnswer, len(tasks))
	}
	for i, task := range tasks {
		tool, args := task.tool, task.ours
		if !ours {
			args = task.theirs
			if task.other != "" {
				tool = task.other
			}
		}
		begin := time.Now()
		bytes, err := c.pages(tool, args, ours && task.walk)
		if err != nil {
			return fmt.Errorf("%s: %w", task.name, err)
		}
		f.answers[i].bytes = bytes
		f.answers[i].took = append(f.answers[i].took, time.Since(begin))
	}
	return nil
}

// watch looks at the memory of a process until stop is called.
func (f *argocdFigures) watch(pid int) (stop func()) {
	var anon, rss atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			anon.Store(max(anon.Load(), anonOf(pid)))
			rss.Store(max(rss.Load(), statusOf(pid, "VmHWM:")))
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		f.anon, f.rss = max(f.anon, anon.Load()), max(f.rss, rss.Load())
	}
}

// pages calls a tool, with walk once for each page that the answers tell of. It gives the
// bytes of all of them.
func (c *rawClient) pages(tool string, args map[string]any, walk bool) (int, error) {
	ask := map[string]any{}
	maps.Copy(ask, args)
	total := 0
	for page := 1; ; page++ {
		if walk {
			ask["page"] = page
			ask["fresh"] = page == 1 // a snapshot of the tasks before does not count
		}
		if err := c.send(tool, ask); err != nil {
			return total, err
		}
		bytes, more, err := c.reply()
		total += bytes
		if err != nil || !walk || !more {
			return total, err
		}
	}
}

// reply reads lines until one is a response, and whether it is a page with another after it.
func (c *rawClient) reply() (bytes int, more bool, err error) {
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return 0, false, fmt.Errorf("%w: %.300s", err, c.log.String())
		}
		var m struct {
			ID     *int
			Error  *struct{ Message string }
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return 0, false, fmt.Errorf("a line of the server: %w: %.200s", err, line)
		}
		switch {
		case m.ID == nil:
			continue
		case m.Error != nil:
			return len(line), false, errors.New(m.Error.Message)
		case len(m.Result.Content) == 0:
			return len(line), false, fmt.Errorf("an answer without content: %.200s", line)
		case m.Result.IsError:
			return len(line), false, fmt.Errorf("the tool says: %.300s", m.Result.Content[0].Text)
		}
		var p struct {
			Pagination struct {
				HasNext bool `json:"has_next"`
			}
		}
		_ = json.Unmarshal([]byte(m.Result.Content[0].Text), &p) // only pages have it
		return len(line), p.Pagination.HasNext, nil
	}
}

// statusOf reads a size of /proc/PID/status in bytes, 0 when it is not there.
func statusOf(pid int, key string) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}
