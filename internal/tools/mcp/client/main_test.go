package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

const serverVariable = "PLIMSOLL_TEST_SERVER"

// The test binary is also the servers of the tests: real processes with real pipes.
func TestMain(m *testing.M) {
	if how := os.Getenv(serverVariable); how != "" {
		serve(how)
		return
	}
	os.Exit(m.Run())
}

// serve answers each request as its method says. how is done at the start.
func serve(how string) {
	switch how {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "dies at once":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "tools":
		serveTools()
		return
	case "text":
		fmt.Println("Server is listening on stdio")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			for how == "stubborn" { // an empty select would be a deadlock, which ends it
				time.Sleep(time.Hour)
			}
			return
		}
		h, err := jsonrpc.Scan(bytes.TrimSpace(line))
		if err != nil {
			fmt.Fprintln(os.Stderr, "bad line:", err)
			continue
		}
		answer := func() { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"method":%q}}`+"\n", h.ID, h.Method) }
		switch {
		case h.Kind == jsonrpc.Notification:
			fmt.Fprintf(os.Stderr, "notified %s %s\n", h.Method, h.Params.Of(line))
			if h.Method == "notifications/cancelled" && how == "answers late" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", rawjson.Get(line, "params", "requestId").Of(line))
			}
		case h.Kind == jsonrpc.Response:
			fmt.Fprintf(os.Stderr, "answered %s\n", line)
		case h.Method == "initialize":
			fmt.Fprintf(os.Stderr, "initialize %s\n", h.ID)
			answer()
		case h.Method == "never":
			fmt.Fprintf(os.Stderr, "never %s\n", h.ID)
		case h.Method == "twice":
			answer()
			answer()
		case h.Method == "foreign":
			fmt.Println(`{"jsonrpc":"2.0","id":"somebody else's","result":{}}`)
			answer()
		case h.Method == "text":
			fmt.Println("debug: here I am\n\n[1,2]")
			answer()
		case h.Method == "batch":
			fmt.Printf(`[{"jsonrpc":"2.0","method":"notifications/message"},{"jsonrpc":"2.0","id":%s,"result":{}}]`+"\n", h.ID)
		case h.Method == "die":
			fmt.Fprintln(os.Stderr, "panic: out of ideas")
			os.Exit(7)
		case h.Method == "die mid-frame":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"%s`, h.ID, strings.Repeat("x", 200<<10))
			os.Exit(7)
		case h.Method == "die early in the frame":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"te`, h.ID)
			os.Exit(7)
		case h.Method == "kill":
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
		case h.Method == "big":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"`, h.ID)
			write256(os.Stdout)
			fmt.Println(`"}}`)
		case h.Method == "big, id last":
			fmt.Printf(`{"result":{"text":"%s"},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("y", 300<<10), h.ID)
		case strings.HasPrefix(h.Method, "odd text"):
			text, frame := oddText, `{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`
			if strings.HasSuffix(h.Method, "large") {
				text += strings.Repeat("x", 200<<10)
			} else if strings.HasSuffix(h.Method, "batch") {
				frame = "[" + frame + "]"
			}
			fmt.Printf(frame+"\n", h.ID, text)
		case h.Method == "no newline":
			write256(os.Stdout)
			fmt.Println()
			answer()
		case h.Method == "endless", h.Method == "endless text":
			if h.Method == "endless" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"`, h.ID)
			}
			for {
				write256(os.Stdout)
			}
		case h.Method == "close stdout":
			_ = os.Stdout.Close()
		case h.Method == "flood stderr":
			for range 1 << 10 {
				fmt.Fprintln(os.Stderr, strings.Repeat("e", 1<<10))
			}
			answer()
		case h.Method == "flood":
			for i := range 10_000 {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d}}`+"\n", i)
			}
			answer()
		case h.Method == "progress":
			token := rawjson.Get(line, "params", "_meta", "progressToken").Of(line)
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", token)
			answer()
		case h.Method == "asks":
			fmt.Println(`{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{}}`)
			reply, _ := in.ReadBytes('\n')
			fmt.Fprintf(os.Stderr, "got %s", reply)
			answer()
		default:
			answer()
		}
	}
}

func write256(w io.Writer) {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 256 {
		_, _ = w.Write(chunk)
	}
}

// child makes a Server on the test binary, which is closed when the test ends, and checks
// that no goroutine of it is left.
func child(t *testing.T, how string, change func(*StdioOptions)) (*Server, *records) {
	t.Helper()
	said := &records{journal: journal.New(journal.Options{})}
	o := StdioOptions{Name: "test", Launch: self(how), Stderr: said, StderrRate: 8 << 20, Journal: said.journal, TempDir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	s := Stdio(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		noGoroutineLeft(t)
	})
	return s, said
}

// self launches the test binary as the server how.
func self(how string) func(context.Context) (*Process, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+how)
	return Exec(cmd)
}

// noGoroutineLeft fails when a goroutine of this package outlives its Server.
func noGoroutineLeft(t *testing.T) {
	t.Helper()
	var left string
	wait.Until(t, "all goroutines end", func() bool {
		var b bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
		left = ""
		for one := range strings.SplitSeq(b.String(), "\n\n") {
			if strings.Contains(one, "internal/tools/mcp/client.(*") && !strings.Contains(one, "testing.tRunner(") {
				left = one
			}
		}
		return left == ""
	}, func() string { return left })
}

// records is what a server wrote to its standard error, and the journal.
type records struct {
	mu      sync.Mutex
	text    []byte
	news    news
	journal *journal.Journal
}

// news wakes those who wait for something to have changed.
type news struct {
	mu sync.Mutex
	c  chan struct{}
}

// next is closed at the next tell.
func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c == nil {
		n.c = make(chan struct{})
	}
	return n.c
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c != nil {
		close(n.c)
		n.c = nil
	}
}

// until waits until it is so, as often as something changes.
func (n *news) until(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		next := n.next()
		if so() {
			return
		}
		select {
		case <-next:
		case <-deadline:
			t.Fatalf("%s: still not so after a minute", what)
		}
	}
}

func (r *records) Write(p []byte) (int, error) {
	defer r.news.tell()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	return len(p), nil
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}

// await waits until the server has said text.
func (r *records) await(t *testing.T, text string) {
	t.Helper()
	r.news.until(t, "the server says "+text, func() bool { return strings.Contains(r.String(), text) })
}

func (r *records) noise(what string) (bytes int64) {
	for record := range r.journal.Since(0) {
		if e, ok := record.Event.(journal.ToolNoise); ok && e.What == what {
			bytes += e.Bytes
		}
	}
	return bytes
}

// message makes a client's message.
func message(t *testing.T, raw string) transport.Message {
	t.Helper()
	h, err := jsonrpc.Scan([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return transport.Message{Raw: []byte(raw), Head: h}
}

func request(t *testing.T, id, method string) transport.Message {
	t.Helper()
	return message(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method))
}

// receiver collects what comes back for a message.
type receiver struct {
	mu     sync.Mutex
	frames []string // the whole ones and the beginnings of others
	bytes  int64
	broken error
	done   chan struct{}
	err    error
	opened *transport.Answer
	news   news
}

func newReceiver() *receiver { return &receiver{done: make(chan struct{})} }

func (r *receiver) Open(a transport.Answer) { r.opened = &a }

func (r *receiver) Receive(f *transport.Frame) {
	head := string(f.Head[:min(len(f.Head), 1<<10)])
	n := int64(len(f.Head))
	var err error
	if f.Rest != nil {
		var more int64
		more, err = io.Copy(io.Discard, f.Rest)
		n += more
	}
	defer r.news.tell()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames, r.bytes = append(r.frames, head), r.bytes+n
	if err != nil {
		r.broken = err
	}
}

func (r *receiver) Done(err error) { r.err = err; close(r.done) }

func (r *receiver) wait(t *testing.T) *receiver {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatal("Done was never told")
	}
	return r
}

// ask sends a request and waits for its end.
func ask(t *testing.T, p transport.Peer, id, method string) *receiver {
	t.Helper()
	r := newReceiver()
	p.Send(t.Context(), request(t, id, method), r)
	return r.wait(t)
}

func (r *receiver) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.frames) == 0 {
		return ""
	}
	return r.frames[len(r.frames)-1]
}

func (r *receiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.frames...)
}

func listen(t *testing.T, p transport.Peer) (*receiver, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := newReceiver()
	p.Listen(ctx, nil, r)
	t.Cleanup(cancel)
	return r, cancel
}
