package conversation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/journal"
)

var bg = context.Background()

// The test binary is also the child that is killed, or that holds a session.
func TestMain(m *testing.M) {
	if mode := os.Getenv("CONVERSATION_CHILD"); mode != "" {
		if err := child(mode, os.Getenv("CONVERSATION_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(mode, dir string) error {
	if mode == "small" {
		return smallFiles(dir)
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	c, err := s.Open(context.Background(), "s", false)
	if err != nil {
		return err
	}
	switch mode {
	case "hold":
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent says that it is enough
		return c.Close()
	case "append":
		for i := 0; ; i++ {
			if err := c.Append(numbered(i)...); err != nil {
				return err
			}
			fmt.Println(i)
		}
	case "replace":
		for i := 0; ; i++ {
			if err := c.Replace(append(numbered(i), numbered(i)...)); err != nil {
				return err
			}
			fmt.Println(i)
		}
	}
	return errors.New("unknown mode " + mode)
}

// numbered is a turn of two messages that can be told from others.
func numbered(i int) []agent.Message {
	return []agent.Message{
		{Role: agent.RoleUser, Text: fmt.Sprintf("question %d %s", i, strings.Repeat("x", i%700))},
		{Role: agent.RoleAssistant, Text: fmt.Sprintf("answer %d", i)},
	}
}

// process is a child that says a line each time it has done something.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.WriteCloser
}

func start(t *testing.T, mode, dir string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0])}
	p.cmd.Env = append(os.Environ(), "CONVERSATION_CHILD="+mode, "CONVERSATION_DIR="+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(func() { p.kill() })
	p.lines = bufio.NewScanner(out)
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the child ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

// kill ends the child as it stands, and tells what it had still said.
func (p *process) kill() (last string) {
	if p.cmd.ProcessState != nil {
		return ""
	}
	_ = p.cmd.Process.Kill()
	for p.lines.Scan() {
		last = p.lines.Text()
	}
	_ = p.cmd.Wait()
	return last
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a store with what it has told.
type rig struct {
	*Store
	t       testing.TB
	dir     string
	journal *journal.Journal
	said    *strings.Builder
}

func newRig(t testing.TB, dir string, o Options) *rig {
	t.Helper()
	r := &rig{t: t, dir: dir, journal: journal.New(journal.Options{}), said: &strings.Builder{}}
	o.Dir, o.Journal, o.Log = dir, r.journal, slog.New(slog.NewTextHandler(r.said, nil))
	s, err := Open(o)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	r.Store = s
	return r
}

func (r *rig) open(session string) agent.Conversation {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r.t.Cleanup(cancel)
	c, err := r.Open(ctx, session, false)
	must(r.t, err)
	return c
}

// write makes a session of these messages, last written some time ago.
func (r *rig) write(session string, ago time.Duration, ms ...agent.Message) {
	r.t.Helper()
	c := r.open(session)
	must(r.t, c.Append(ms...))
	must(r.t, c.Close())
	at := time.Now().Add(-ago)
	must(r.t, os.Chtimes(r.file(session), at, at))
}

func (r *rig) file(session string) string { return filepath.Join(r.dir, keyOf(session)+fileExt) }

// messages are what a session has.
func (r *rig) messages(session string) []agent.Message {
	r.t.Helper()
	c := r.open(session)
	defer c.Close()
	return c.Messages()
}

func (r *rig) sessions() string {
	r.t.Helper()
	list, err := r.List()
	must(r.t, err)
	var out []string
	for _, i := range list {
		out = append(out, i.Session)
	}
	return strings.Join(out, " ")
}

// events counts the journal's events of a kind, with some text in their JSON.
func (r *rig) events(kind, text string) (n int) {
	r.t.Helper()
	for rec := range r.journal.Since(0) {
		data, err := json.Marshal(rec.Event)
		must(r.t, err)
		if rec.Event.Kind() == kind && strings.Contains(string(data), text) {
			n++
		}
	}
	return n
}

func same(t testing.TB, what string, got, want []agent.Message) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %d messages %.300v\nwant %d messages %.300v", what, len(got), got, len(want), want)
	}
}

// talk has one of everything that a message can have.
var talk = []agent.Message{
	{Role: agent.RoleUser, Text: "Which apps are <unhealthy> & why? \u2028 \x00 ☃"},
	{
		Role: agent.RoleAssistant, Text: "I look.", Opaque: json.RawMessage(`[{"type":"thinking","signature":"a<b+/="}]`),
		Calls: []agent.Call{{ID: "c1", Name: "list", Arguments: `{"a":1}`}, {ID: "c2", Name: "get", Arguments: "{broken\n"}},
	},
	{Role: agent.RoleTool, CallID: "c1", Name: "list", Text: "line 1\nline 2"},
	{Role: agent.RoleTool, CallID: "c2", Name: "get", Text: "no JSON", Failed: true},
	{Role: agent.RoleAssistant, Text: "Two."},
}
