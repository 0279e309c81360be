package toolbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// patience is how long tests wait for what should happen at once.
const patience = time.Minute

type words struct {
	Text string `json:"text"`
}

// echo is a function that says what it is told.
func echo(name string) builtin.Tool {
	return builtin.Typed(builtin.Tool{Name: name, Description: "Says it again.", Hints: builtin.Hints{ReadOnly: true}},
		func(_ context.Context, _ *builtin.Call, in words) (*builtin.Result, error) {
			return &builtin.Result{Text: in.Text}, nil
		})
}

func TestLargeResultsArePagedAndKept(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{
		Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))},
		Query:   []string{os.Args[0], query.Argument},
	})
	out := called(t, b, "big", `{"bytes":1048576,"kind":"items","needle":"zebra"}`)
	if out.Failed || len(out.Text) > 11_000 {
		t.Fatalf("%d bytes, failed=%t: %.300s", len(out.Text), out.Failed, out.Text)
	}
	if out.Size < 1<<20 {
		t.Errorf("the size is %d, the tool said 1 MiB", out.Size)
	}
	has(t, out.Text, "Page 1 of", "result_page {")
	_, rest, _ := strings.Cut(out.Text, `"handle":"`)
	handle, _, _ := strings.Cut(rest, `"`)
	if !strings.HasPrefix(handle, "r_") {
		t.Fatalf("there is no handle in %.500s", out.Text[max(0, len(out.Text)-500):])
	}
	has(t, succeeded(t, b, "result_page", `{"handle":"`+handle+`","page":2}`), "Page 2 of")
	has(t, succeeded(t, b, "result_search", `{"handle":"`+handle+`","pattern":"zebra"}`), "zebra")
	// The child that runs the query has less memory than the race detector wants.
	if raceDetector {
		return
	}
	if got := succeeded(t, b, "result_query", `{"handle":"`+handle+`","query":"length"}`); len(got) == 0 {
		t.Error("the query gave nothing")
	}
	if out := called(t, b, "result_page", `{"handle":"r_00000000000000000000000000","page":2}`); !out.Failed {
		t.Errorf("a page of nothing: %s", out.Text)
	}
}

func TestFunctionsBesideServers(t *testing.T) {
	t.Parallel()
	large := builtin.Typed(builtin.Tool{Name: "large", Hints: builtin.Hints{ReadOnly: true}}, func(_ context.Context, _ *builtin.Call, in words) (*builtin.Result, error) {
		return &builtin.Result{Text: strings.Repeat(in.Text+"\n", 10_000)}, nil
	})
	two := piped(toolserver.New(toolserver.Options{}))
	two.Name = "two"
	b := opened(t, toolbox.Options{
		Servers:   []toolbox.Server{piped(toolserver.New(toolserver.Options{})), two},
		Functions: []builtin.Tool{echo("echo"), large},
	})
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if names[0] != "echo" || names[1] != "large" || !strings.HasPrefix(names[2], "piped__") {
		t.Errorf("the order is %v", names)
	}
	if last := names[len(names)-2:]; last[0] != "result_page" || last[1] != "result_search" {
		t.Errorf("the last are %v", last)
	}
	for _, name := range []string{"echo", "piped__echo", "two__echo"} {
		if got := succeeded(t, b, name, `{"text":"hello"}`); got != "hello" {
			t.Errorf("%s said %q", name, got)
		}
	}
	for name, arguments := range map[string]string{"large": `{"text":"a line"}`, "two__big": `{"bytes":100000,"kind":"lines"}`, "piped__counter": `{"bytes":100000}`} {
		text := succeeded(t, b, name, arguments)
		_, rest, _ := strings.Cut(text, `"handle":"`)
		handle, _, _ := strings.Cut(rest, `"`)
		has(t, succeeded(t, b, "result_page", `{"handle":"`+handle+`","page":2}`), "Page 2 of")
		if name != "two__big" { // refreshed where it came from
			has(t, succeeded(t, b, "result_page", `{"handle":"`+handle+`","refresh":true}`), "Page 1 of")
		}
	}
}

func TestOneServerBesideFunctions(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))}, Functions: []builtin.Tool{echo("say")}})
	list := specs(t, b)
	for _, name := range []string{"say", "echo", "big", "result_page"} {
		if list[name].Name == "" {
			t.Errorf("%s is not among the tools", name)
		}
	}
	if !list["say"].ReadOnly || list["write"].ReadOnly {
		t.Error("what is read only is not what says so")
	}
}

func TestContentThatIsNoText(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))}})
	image := called(t, b, "image", `{"bytes":3000}`)
	has(t, image.Text, "[image, image/png, ", "it cannot be shown here]")
	if huge := called(t, b, "image", `{"bytes":3000000}`); len(huge.Text) > 2000 {
		t.Errorf("an image of 6 MB is %d bytes for the model", len(huge.Text))
	}
	has(t, succeeded(t, b, "structured", `{}`), "{")
}

func TestProgressAndPieces(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))}})
	var all strings.Builder
	longest := 0
	chunk := func(piece string) {
		longest = max(longest, len(piece))
		all.WriteString(piece)
	}
	out, err := b.Call(t.Context(), agent.Call{Name: "echo", Arguments: `{"text":"` + strings.Repeat("ä", 4500) + `"}`}, chunk)
	if err != nil || out.Failed {
		t.Fatal(err, out.Text)
	}
	if all.String() != out.Text || longest > toolbox.MaxChunk {
		t.Errorf("the pieces are %d bytes, the longest %d, the text is %d", all.Len(), longest, len(out.Text))
	}
	all.Reset()
	if _, err := b.Call(t.Context(), agent.Call{Name: "slow", Arguments: `{"ms":30,"steps":3}`}, chunk); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(all.String(), "\n"); n < 2 {
		t.Errorf("of the progress came: %q", all.String())
	}
}

func TestCancelledCallsEndAtOnceAndAtTheServer(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(*toolserver.Server) toolbox.Server{
		"stdio": piped,
		"http":  func(ts *toolserver.Server) toolbox.Server { return remote(t, ts) },
	} {
		ts := toolserver.New(toolserver.Options{})
		b := opened(t, toolbox.Options{Servers: []toolbox.Server{server(ts)}})
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("changed my mind")
		began := make(chan struct{})
		var once sync.Once
		done := make(chan error, 1)
		go func() {
			_, err := b.Call(ctx, agent.Call{Name: "slow", Arguments: `{"ms":600000,"steps":6000}`}, func(string) { once.Do(func() { close(began) }) })
			done <- err
		}()
		wait(t, name+" to begin", began)
		cancel(why)
		select {
		case err := <-done:
			if !errors.Is(err, why) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(patience):
			t.Fatal("the call did not end")
		}
		until(t, "the server was told", func() bool { return ts.Stats().Cancelled > 0 || ts.Stats().Open == 0 })
		if b.Stats().Cancelled != 1 {
			t.Errorf("%s: %+v", name, b.Stats())
		}
	}
}

func TestAServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Call(ctx, agent.Call{Name: "silent", Arguments: `{}`}, ignored); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if got := succeeded(t, b, "echo", `{"text":"still here"}`); got != "still here" {
		t.Errorf("echo said %q", got)
	}
}

func TestAServerThatDiesComesBack(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{child("mortal", "works")}})
	for how, word := range map[string]string{`{"code":3}`: "mortal ended before it answered", `{"mid":true}`: "broke off"} {
		out := called(t, b, "die", how)
		if !out.Failed {
			t.Fatalf("it died and said: %s", out.Text)
		}
		has(t, out.Text, word)
		until(t, "the server is back", func() bool {
			out := called(t, b, "echo", `{"text":"again"}`)
			return !out.Failed && out.Text == "again"
		})
	}
}

func TestAnHTTPServerThatForgetsSessions(t *testing.T) {
	t.Parallel()
	ts := toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly})
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{remote(t, ts)}})
	ts.EndSessions()
	until(t, "there is another session", func() bool {
		out := called(t, b, "echo", `{"text":"again"}`)
		return !out.Failed
	})
}

func TestRequestsOfServersAreRefused(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{piped(toolserver.New(toolserver.Options{}))}})
	for _, name := range []string{"ask", "sample", "roots"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		out, err := b.Call(ctx, agent.Call{Name: name, Arguments: `{"message":"which one?"}`}, ignored)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: failed=%t %s", name, out.Failed, out.Text)
	}
}

func TestFiftyCallsAtOnce(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{
		Servers:   []toolbox.Server{piped(toolserver.New(toolserver.Options{})), remote(t, toolserver.New(toolserver.Options{}))},
		Functions: []builtin.Tool{echo("echo")},
	})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for _, name := range []string{"echo", "piped__echo", "remote__echo"} {
				want := fmt.Sprintf("%s %d", name, i)
				out, err := b.Call(t.Context(), agent.Call{Name: name, Arguments: fmt.Sprintf(`{"text":%q}`, want)}, ignored)
				if err != nil || out.Failed || out.Text != want {
					t.Errorf("%s: %v %+v", want, err, out)
				}
			}
			out, err := b.Call(t.Context(), agent.Call{Name: "piped__counter", Arguments: `{"bytes":30000}`}, ignored)
			if err != nil || out.Failed {
				t.Errorf("counter: %v %+v", err, out)
				return
			}
			_, rest, _ := strings.Cut(out.Text, `"handle":"`)
			handle, _, _ := strings.Cut(rest, `"`)
			out, err = b.Call(t.Context(), agent.Call{Name: "result_page", Arguments: `{"handle":"` + handle + `","page":2}`}, ignored)
			if err != nil || out.Failed || !strings.Contains(out.Text, "Page 2 of") {
				t.Errorf("page 2: %v %.300s", err, out.Text)
			}
		})
	}
	wg.Wait()
	if s := b.Stats(); s.Calls != 250 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAGatewayThatIsThere(t *testing.T) {
	t.Parallel()
	store, err := spool.Open(spool.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	tools, err := builtin.New(builtin.Options{Name: "mine", Version: "1", Tools: []builtin.Tool{echo("say")}, Instructions: "Say it twice."})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.NewServer(gateway.ServerOptions{Name: "mine", Builtin: true, Spool: store, Dial: func(gateway.Dialing) transport.Peer { return tools.Dial() }})
	t.Cleanup(func() { _ = g.Close(); _ = tools.Close() })
	if _, err := toolbox.New(t.Context(), toolbox.Options{Servers: []toolbox.Server{{Gateway: g}}}); err == nil || !strings.Contains(err.Error(), "Options.Spool") {
		t.Errorf("without its spool: %v", err)
	}
	b := opened(t, toolbox.Options{Spool: store, Servers: []toolbox.Server{{Gateway: g}}})
	if got := succeeded(t, b, "say", `{"text":"x"}`); got != "x" {
		t.Errorf("it said %q", got)
	}
	if got := b.Instructions(); got != "Say it twice.\n" {
		t.Errorf("the instructions are %q", got)
	}
	long := succeeded(t, b, "say", `{"text":"`+strings.Repeat(`line\n`, 20_000)+`"}`)
	has(t, long, "Page 1 of")
}

func wait(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}

// until asks again and again.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}
