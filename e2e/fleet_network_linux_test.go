package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A network has nodes in namespaces of their own, all in reach of each other over one bridge until it is parted in two. Over another one, which
// stays whole, they reach what listens at outside.
type network struct {
	t       *testing.T
	prefix  string
	subnet  [2]string // 198.18.N and 198.19.N
	bridges [2]string // those of the two parts
	outside string
	nodes   int
}

var networks atomic.Int32 // of this process

// A node is one namespace, with an address of the network.
type node struct {
	net     *network
	name    string
	address string
	port    string // the end of its link at the bridge
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := (os.Getpid() + int(networks.Add(1))) % 250 // a link stays for a while after its namespace has gone
	w := &network{t: t, prefix: fmt.Sprintf("pf%d", n), subnet: [2]string{fmt.Sprintf("198.18.%d", n), fmt.Sprintf("198.19.%d", n)}}
	w.bridges, w.outside = [2]string{w.prefix + "a", w.prefix + "b"}, w.subnet[1]+".254"
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		w.missing(errors.New("it takes root and the command ip"))
	}
	for i, bridge := range []string{w.bridges[0], w.bridges[1], w.prefix + "o"} {
		out, err := exec.Command("ip", "link", "add", bridge, "type", "bridge").CombinedOutput()
		if err != nil {
			w.missing(fmt.Errorf("%w: %s", err, out))
		}
		t.Cleanup(func() { _ = exec.Command("ip", "link", "del", bridge).Run() })
		w.ip("link", "set", bridge, "up")
		switch i {
		case 0:
			w.ip("address", "add", w.subnet[0]+".254/24", "dev", bridge)
		case 2:
			w.ip("address", "add", w.outside+"/24", "dev", bridge)
		}
	}
	return w
}

// missing ends a test for which this machine lacks something; in CI as a failure.
func (w *network) missing(err error) {
	w.t.Helper()
	if os.Getenv("CI") != "" {
		w.t.Fatal("no network namespaces: ", err)
	}
	w.t.Skip("no network namespaces: ", err)
}

func (w *network) ip(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// add makes a node.
func (w *network) add() *node {
	w.t.Helper()
	w.nodes++
	n := &node{net: w, name: fmt.Sprintf("%sn%d", w.prefix, w.nodes), address: fmt.Sprintf("%s.%d", w.subnet[0], w.nodes), port: fmt.Sprintf("%sp%d", w.prefix, w.nodes)}
	w.ip("netns", "add", n.name)
	w.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.name).Run() })
	w.ip("-n", n.name, "link", "set", "lo", "up")
	for i, port := range []string{n.port, n.port + "o"} {
		inside := fmt.Sprint("eth", i)
		w.ip("link", "add", port, "type", "veth", "peer", "name", inside, "netns", n.name)
		w.ip("link", "set", port, "master", []string{w.bridges[0], w.prefix + "o"}[i], "up")
		w.ip("-n", n.name, "address", "add", fmt.Sprintf("%s.%d/24", w.subnet[i], w.nodes), "dev", inside)
		w.ip("-n", n.name, "link", "set", inside, "up")
	}
	return n
}

// part moves nodes to the other part of the network, where nobody reaches those that stay. Without any it is whole again.
func (w *network) part(all []*node, away ...*node) {
	w.t.Helper()
	for _, n := range all {
		w.ip("link", "set", n.port, "master", w.bridges[0])
	}
	for _, n := range away {
		w.ip("link", "set", n.port, "master", w.bridges[1])
	}
}

// command is one that runs at the node.
func (n *node) command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.name, name}, args...)...)
}

// A store is a server of NATS at a node.
type store struct {
	*node
	config string
	cmd    *exec.Cmd
}

// natsCluster starts servers that store together what any of them is told, and returns them with their addresses.
func natsCluster(t *testing.T, w *network, n int) (stores []*store, urls string) {
	t.Helper()
	dir := t.TempDir()
	var all, routes []string
	for range n {
		s := &store{node: w.add()}
		all, routes = append(all, "nats://"+s.address+":4222"), append(routes, "nats://"+s.address+":6222")
		stores = append(stores, s)
	}
	for i, s := range stores {
		s.config = filepath.Join(dir, fmt.Sprintf("n%d.conf", i))
		write(t, fmt.Sprintf("server_name: n%d\nlisten: \"%s:4222\"\njetstream {store_dir: %q}\ncluster {name: faults, listen: \"%s:6222\", routes: [%s]}\n",
			i, s.address, filepath.Join(dir, fmt.Sprint("store", i)), s.address, strings.Join(routes, ", ")), s.config)
		s.start()
		t.Cleanup(s.kill)
	}
	return stores, strings.Join(all, ",")
}

func (s *store) start() {
	s.net.t.Helper()
	s.cmd = s.command(natsserver.Program(s.net.t), "-c", s.config, "-l", s.config+".log")
	if err := s.cmd.Start(); err != nil {
		s.net.t.Fatal(err)
	}
}

func (s *store) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// leader returns the server that leads a bucket, by the word of any that is asked; nil while there is none.
func leader(t *testing.T, stores []*store, urls, bucket string) *store {
	t.Helper()
	conn, err := nats.Connect(urls, nats.Timeout(2*time.Second))
	if err != nil {
		return nil
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		return nil
	}
	stream, err := js.Stream(t.Context(), "KV_"+bucket)
	if err != nil {
		return nil
	}
	for i, s := range stores {
		if c := stream.CachedInfo().Cluster; c != nil && c.Leader == fmt.Sprint("n", i) {
			return s
		}
	}
	return nil
}

// A ledger is a provider that keeps count of what it has answered, by who has asked.
type ledger struct {
	url string
	mu  sync.Mutex
	by  map[string]int
	all int
}

// answerCost is the price of one of its answers: 1,000 tokens of gpt-4o, at $10 a million, and none read.
const answerCost = 0.01

func newLedger(t *testing.T, address string) *ledger {
	t.Helper()
	r := &ledger{by: map[string]int{}}
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: r}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	r.url = "http://" + listener.Addr().String()
	return r
}

func (r *ledger) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	from, _, _ := net.SplitHostPort(q.RemoteAddr)
	r.mu.Lock()
	r.by[from[strings.LastIndexByte(from, '.')+1:]]++
	r.all++
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":1000}}`)
}

func (r *ledger) answered(n *node) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[n.address[strings.LastIndexByte(n.address, '.')+1:]]
}

func (r *ledger) spent() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return answerCost * float64(r.all)
}

// A faulty is a host of the test, with a run whose agent asks its model all the time.
type faulty struct {
	*node
	w     *world
	cmd   *exec.Cmd
	runs  int
	said  string // what the newest run says on standard error
	heard string // the first lines of the answers that its agent got

	program string        // plimsoll, unless its clock is off
	off     time.Duration // of its clock
}

// start starts a run with a budget.
func (h *faulty) start(r *ledger, urls string, budget float64) {
	t := h.net.t
	t.Helper()
	h.runs++
	write(t, fmt.Sprintf("[budget]\nday = %.4f\n[fleet]\nurl = %q\n", budget, urls), h.w.state, "config.toml")
	h.said, h.heard = filepath.Join(h.w.home, fmt.Sprint("said", h.runs)), filepath.Join(h.w.home, fmt.Sprint("heard", h.runs))
	said, err := os.Create(h.said)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	h.cmd = h.command(cmp.Or(h.program, plimsoll), "run", "--force", "--proxy", "--", testtool, "ask", "OPENAI_BASE_URL", "/chat/completions", h.heard)
	h.cmd.Dir, h.cmd.Env, h.cmd.Stderr = h.w.work, h.w.environment("OPENAI_BASE_URL="+r.url+"/v1", fmt.Sprintf("%s=%.0f", clockOff, h.off.Seconds())), said
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill kills the run as a crash of its host does.
func (h *faulty) kill() {
	for _, p := range h.w.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	_ = h.cmd.Wait()
}

// refusals returns the answers of the newest run that were none of the provider's.
func (h *faulty) refusals() []string {
	text, _ := os.ReadFile(h.heard)
	var refused []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "200 OK") {
			refused = append(refused, line)
		}
	}
	return refused
}

// goOn waits until each of the hosts has had n more answers.
func goOn(t *testing.T, r *ledger, what string, n int, hosts ...*faulty) {
	t.Helper()
	before := map[*faulty]int{}
	for _, h := range hosts {
		before[h] = r.answered(h.node)
	}
	wait.Within(t, 2*time.Minute, what, func() bool {
		for _, h := range hosts {
			if r.answered(h.node) < before[h]+n {
				return false
			}
		}
		return true
	}, func() string {
		var state strings.Builder
		for _, h := range hosts {
			said, _ := os.ReadFile(h.said)
			refused := h.refusals()
			fmt.Fprintf(&state, "%s: %d answers, refused %d times %q: %s\n", h.name, r.answered(h.node)-before[h], len(refused), refused[max(0, len(refused)-1):], clip(string(said)))
		}
		return state.String()
	})
}
