package toolbox_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// live is the heap that is in use after a collection.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Not parallel: others' memory would count.
func TestMemoryStaysFlat(t *testing.T) {
	flood := builtin.Typed(builtin.Tool{Name: "flood", Hints: builtin.Hints{OpenWorld: true}},
		func(_ context.Context, _ *builtin.Call, in struct {
			Bytes int `json:"bytes"`
		},
		) (*builtin.Result, error) {
			return &builtin.Result{Stream: func(_ context.Context, w io.Writer) error {
				line := strings.Repeat("0123456789abcde", 64) + "\n"
				for n := 0; n < in.Bytes; n += len(line) {
					if _, err := io.WriteString(w, line); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		})
	b := opened(t, toolbox.Options{
		Servers:   []toolbox.Server{remote(t, toolserver.New(toolserver.Options{}))},
		Functions: []builtin.Tool{flood},
	})
	ask := func(name, arguments string) {
		out, err := b.Call(t.Context(), agent.Call{Name: name, Arguments: arguments}, ignored)
		if err != nil || out.Failed || len(out.Text) > 12_000 {
			t.Errorf("%s: %v, failed=%t, %d bytes: %.200s", name, err, out.Failed, len(out.Text), out.Text)
		}
	}
	ask("flood", `{"bytes":1000000}`)
	ask("big", `{"bytes":1000000,"kind":"lines"}`)
	before := live()
	for range rounds {
		ask("flood", `{"bytes":1000000}`)
		ask("big", `{"bytes":1000000,"kind":"items"}`)
		ask("image", `{"bytes":1000000}`)
	}
	if grown := live() - before; grown > int64(2*limit.MiB) {
		t.Errorf("%d results of 1 MB left %d bytes", 3*rounds, grown)
	}
	// A flood passes; what is held while they do is looked at from within the tool.
	var peak int64
	var mu sync.Mutex
	half := builtin.Typed(builtin.Tool{Name: "half"}, func(_ context.Context, _ *builtin.Call, _ struct{}) (*builtin.Result, error) {
		return &builtin.Result{Stream: func(_ context.Context, w io.Writer) error {
			line := strings.Repeat("0123456789abcde", 64) + "\n"
			for n := range (flooded << 20) / len(line) {
				if _, err := io.WriteString(w, line); err != nil {
					return err
				}
				if n%(flooded*300) == flooded*150 {
					held := live() - before
					mu.Lock()
					peak = max(peak, held)
					mu.Unlock()
				}
			}
			return nil
		}}, nil
	})
	c := opened(t, toolbox.Options{Functions: []builtin.Tool{half}})
	out, err := c.Call(t.Context(), agent.Call{Name: "half", Arguments: `{}`}, ignored)
	if err != nil || out.Failed || out.Size < (flooded-1)<<20 {
		t.Fatalf("%v, failed=%t, size %d: %.200s", err, out.Failed, out.Size, out.Text)
	}
	t.Logf("%d MiB: %d bytes of heap at most", flooded, peak)
	if peak == 0 || peak > int64(4*limit.MiB) {
		t.Errorf("%d MiB held %d bytes of heap", flooded, peak)
	}
}

func TestMaxResult(t *testing.T) {
	t.Parallel()
	b := opened(t, toolbox.Options{Functions: []builtin.Tool{echo("echo")}, MaxResult: 2 * limit.KiB})
	long := `{"text":"` + strings.Repeat(`a line of text\n`, 1000) + `"}`
	if text := succeeded(t, b, "echo", long); len(text) > 3000 {
		t.Errorf("%d bytes", len(text))
	}
	wide := opened(t, toolbox.Options{Functions: []builtin.Tool{echo("echo")}, MaxResult: 50 * limit.KiB})
	if text := succeeded(t, wide, "echo", long); len(text) != 15_000 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestAGatewayThatLetsEverythingPass(t *testing.T) {
	t.Parallel()
	server := piped(toolserver.New(toolserver.Options{}))
	server.Settings = gateway.Settings{Limits: gateway.Limits{Cap: -1, MaxItems: -1}}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{server}})
	out := called(t, b, "big", `{"bytes":1000000,"kind":"lines"}`)
	if out.Failed || out.Size < 1_000_000 || len(out.Text) > int(toolbox.MaxText)+100 {
		t.Errorf("failed=%t, %d bytes of %d", out.Failed, len(out.Text), out.Size)
	}
	has(t, out.Text, "more bytes were left out")
}
