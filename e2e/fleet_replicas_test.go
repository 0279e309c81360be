//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const replicaToken = "a token that all replicas have"

// A replica is a plimsoll serve with a state of its own.
type replica struct {
	t    *testing.T
	w    *world
	cmd  *exec.Cmd
	url  string
	said *overheard
}

type overheard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *overheard) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *overheard) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startReplica starts one in front of a provider; fleet is the address of a store, "" for none.
func startReplica(t *testing.T, provider, fleet string) *replica {
	t.Helper()
	r := &replica{t: t, w: newWorld(t), said: &overheard{}}
	write(t, "[window]\nmax_tokens = 20000\nsummarizer = \"extractive\"\nmax_tool_output = 4000\ntarget = 0.3\n[serve]\ntoken = \"REPLICA_TOKEN\"\n", r.w.state, "config.toml")
	r.w.variables = []string{"REPLICA_TOKEN=" + replicaToken, "PLIMSOLL_UPSTREAM_ANTHROPIC=" + provider, "PLIMSOLL_FLEET_URL=" + fleet}
	r.start()
	t.Cleanup(func() {
		if r.cmd != nil {
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
			if err := r.cmd.Wait(); err != nil {
				t.Errorf("plimsoll serve: %v\n%s", err, r.said)
			}
		}
	})
	return r
}

func (r *replica) start() {
	r.t.Helper()
	ready := filepath.Join(r.w.state, "ready")
	_ = os.Remove(ready)
	r.cmd = exec.Command(plimsoll, "serve", "--listen", "127.0.0.1:0", "--ready-file", ready)
	r.cmd.Env, r.cmd.Stderr, r.cmd.Stdout = r.w.environment(), r.said, r.said
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	wait.Within(r.t, patience, "plimsoll serve is ready", func() bool {
		text, err := os.ReadFile(ready)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.t.Fatal(err)
		}
		r.url = strings.TrimSpace(string(text))
		return bytes.HasSuffix(text, []byte("\n"))
	})
}

// kill ends it as kill -9 does.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// A conversation is a client of Messages with a model whose reasoning is bound to what stood before.
type conversation struct {
	t       *testing.T
	history []any
	calls   []string // of the newest answer
	r       *rand.Rand
}

func newConversation(t *testing.T) *conversation {
	c := &conversation{t: t, r: rand.New(rand.NewPCG(11, 12))}
	c.says("The task: find out why the build of project Halcyon fails, and mend it.")
	return c
}

func (c *conversation) says(text string) {
	c.history = append(c.history, map[string]any{"role": "user", "content": text})
}

// goOn answers the newest calls with results of very different sizes, or says something.
func (c *conversation) goOn(turn int) {
	if len(c.calls) == 0 {
		c.says(fmt.Sprintf("Now step %d.", turn))
		return
	}
	var results []any
	for _, id := range c.calls {
		var b strings.Builder
		for size := []int{100, 1500, 3000, 9000}[c.r.IntN(4)]; b.Len() < size; {
			fmt.Fprintf(&b, "package number %d needs attention soon\n", c.r.IntN(100000))
		}
		results = append(results, map[string]any{"type": "tool_result", "tool_use_id": id, "content": b.String()})
	}
	c.history = append(c.history, map[string]any{"role": "user", "content": results})
}

func (c *conversation) request(root string, stream bool) *http.Request {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{
		"model": "claude-fable-5-1", "max_tokens": 1000, "thinking": map[string]any{"type": "adaptive"}, "stream": stream, "messages": c.history,
		"tools": []any{map[string]any{"name": "shell", "description": "run a command", "input_schema": map[string]any{
			"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []string{"command"},
		}}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, root+"/anthropic/v1/messages", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = http.Header{"Plimsoll-Token": {replicaToken}, "X-Api-Key": {"sk-ant-of-the-client"}, "Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	return r
}

// send asks a replica and takes the answer into the history.
func (c *conversation) send(root string) {
	c.t.Helper()
	res, err := http.DefaultClient.Do(c.request(root, false))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s %v %.500s", res.Status, err, text)
	}
	var answer struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		c.t.Fatal(err)
	}
	c.history, c.calls = append(c.history, map[string]any{"role": "assistant", "content": answer.Content}), nil
	for _, raw := range answer.Content {
		var block struct{ Type, ID string }
		if json.Unmarshal(raw, &block) == nil && block.Type == "tool_use" {
			c.calls = append(c.calls, block.ID)
		}
	}
}

// stopped sends a request whose answer stops in its middle. The replica is killed, or the client goes.
func (c *conversation) stopped(r *replica, kill bool) {
	c.t.Helper()
	res, err := http.DefaultClient.Do(c.request(r.url, true))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 20)); err != nil {
		c.t.Fatal(err)
	}
	if !kill {
		return
	}
	r.kill()
	if _, err := io.ReadAll(res.Body); err == nil {
		c.t.Error("the stream of a replica that was killed has an end")
	}
}

// A stopping writer passes the beginning of an answer on, and then waits until the client has gone.
type stopping struct {
	http.ResponseWriter
	gone  <-chan struct{}
	wrote bool
}

func (s *stopping) Write(p []byte) (int, error) {
	if s.wrote {
		<-s.gone
		return 0, errors.New("the client has gone")
	}
	s.wrote = true
	return s.ResponseWriter.Write(p)
}

func (s *stopping) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

// strict is a provider that refuses and tells what has changed. The answer to its request of number stop, from 0, stops in the middle; none does for -1.
func strict(t *testing.T, stop int64) (*scripted.Provider, string) {
	t.Helper()
	p := scripted.New(scripted.Options{
		Reasoning: scripted.RuleOf, Strict: true, Window: 20_000,
		Script: scripted.Thoughtful(func(turn int, _ *scripted.Request) scripted.Reply {
			if turn%9 == 8 {
				return scripted.Reply{Text: fmt.Sprintf("That is done, as of turn %d.", turn)}
			}
			return scripted.Reply{Calls: []scripted.Call{{Shell: fmt.Sprint("make ", turn)}}}
		}),
	})
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/v1/messages") && requests.Add(1) == stop+1 {
			w = &stopping{ResponseWriter: w, gone: r.Context().Done()}
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return p, server.URL
}

// bodiesOf returns the bodies that a provider got of requests to its model.
func bodiesOf(p *scripted.Provider) (list [][]byte) {
	for _, r := range p.Requests() {
		if r.Kind == "model" {
			list = append(list, r.Body)
		}
	}
	return list
}

// A conversation whose requests go to one of two replicas, or to the other, is to the provider the one that it would be through one alone, though
// results are bounded, room is made, and a replica is killed in the middle of an answer.
func TestFleetReplicas(t *testing.T) {
	t.Parallel()
	const cut, turns = 20, 45
	// play is the conversation; the answer to its request of number cut stops in its middle, and the replica dies where there is another one.
	play := func(provider *scripted.Provider, replicas ...*replica) [][]byte {
		c := newConversation(t)
		for turn := range turns {
			at := turn * 7 / 3 % len(replicas)
			if turn == cut {
				c.stopped(replicas[at], len(replicas) > 1)
				at = (at + 1) % len(replicas) // clients ask again
			}
			c.send(replicas[at].url)
			if turn == cut && len(replicas) > 1 {
				replicas[1-at].start()
			}
			c.goOn(turn)
		}
		list := bodiesOf(provider)
		if again := bytes.Replace(list[cut], []byte(`"stream":true`), []byte(`"stream":false`), 1); !bytes.Equal(again, list[cut+1]) {
			t.Error("what was asked again is not what was asked before")
		}
		return list
	}
	alone, url := strict(t, cut)
	want := play(alone, startReplica(t, url, ""))
	nats := natsserver.Start(t)
	both, url := strict(t, cut)
	replicas := []*replica{startReplica(t, url, nats.URL), startReplica(t, url, nats.URL)}
	got := play(both, replicas...)
	if len(got) != len(want) {
		t.Fatalf("%d requests, through one there were %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("request %d has %d bytes, through one it has %d, and other ones", i, len(got[i]), len(want[i]))
		}
	}
	if s := both.Stats(); s.Refused > 0 || s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
	if smaller := slices.ContainsFunc(want, func(b []byte) bool { return len(b) < len(want[len(want)-1])/2 }); !smaller || len(want[len(want)-1]) > 80_000 {
		t.Error("no room was made: this test holds nothing")
	}
	for _, r := range replicas {
		if strings.Contains(r.said.String(), "replicas") {
			t.Errorf("%s", r.said)
		}
	}
	if files := storedIn(t, nats); bytes.Contains(files, []byte("Halcyon")) || bytes.Contains(files, []byte("needs attention")) || !bytes.Contains(files, []byte("plimsoll_windows")) {
		t.Errorf("%d bytes in the store: the words of the conversation can be read in them, or nothing is there", len(files))
	}
}

// storedIn returns all that a server has on its disk.
func storedIn(t *testing.T, s *natsserver.Server) (all []byte) {
	t.Helper()
	config, err := os.ReadFile(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(config), `store_dir: "`)
	dir, _, _ := strings.Cut(rest, `"`)
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(append(all, path...), text...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// While their store is away two replicas go on, each with a log of its own: the provider refuses and drops nothing, and each says so once. When it
// is back, both send the same again.
func TestFleetReplicasWithoutTheirStore(t *testing.T) {
	t.Parallel()
	provider, url := strict(t, -1)
	nats := natsserver.Start(t)
	replicas := []*replica{startReplica(t, url, nats.URL), startReplica(t, url, nats.URL)}
	c := newConversation(t)
	for turn := range 30 {
		switch turn {
		case 10:
			nats.Kill()
		case 20:
			nats.Start()
		}
		c.send(replicas[turn%2].url)
		c.goOn(turn)
	}
	wait.Within(t, patience, "both replicas send the same", func() bool {
		var bodies [2][]byte
		for i, r := range replicas {
			before := *c
			c.send(r.url)
			*c = before
			list := bodiesOf(provider)
			bodies[i] = list[len(list)-1]
		}
		return bytes.Equal(bodies[0], bodies[1])
	})
	if s := provider.Stats(); s.Refused > 0 || s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
	for _, r := range replicas {
		if n := strings.Count(r.said.String(), "conversations are not shared with other replicas until the fleet is back"); n != 1 {
			t.Errorf("told %d times:\n%s", n, r.said)
		}
	}
}

// Without a token there is nothing to seal conversations with: the daemon says so, and works.
func TestFleetReplicasNeedAToken(t *testing.T) {
	t.Parallel()
	_, url := strict(t, -1)
	r := &replica{t: t, w: newWorld(t), said: &overheard{}}
	r.w.variables = []string{"PLIMSOLL_UPSTREAM_ANTHROPIC=" + url, "PLIMSOLL_FLEET_URL=" + natsserver.Start(t).URL}
	if err := os.MkdirAll(r.w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	r.start()
	defer r.kill()
	newConversation(t).send(r.url)
	if !strings.Contains(r.said.String(), "conversations are not shared with other replicas: they would be sealed with the token of serve") {
		t.Errorf("%s", r.said)
	}
}
