package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkProxyRole makes this program the baseline: what one writes in an hour with the
// official library to stand between a client and a server.
const sdkProxyRole = "child-sdk-proxy"

// mcpBench measures the MCP gateway against the bare server and an SDK proxy. With the first argument sdkProxyRole it runs that proxy
// instead: the benchmark starts itself so.
func mcpBench(o *Out, args []string) {
	if len(args) > 1 && args[0] == sdkProxyRole {
		sdkProxy(o.ctx, args[1:])
		return
	}
	dir := o.build("cmd/plimsoll", "internal/testing/toolserver/standalone")
	server := filepath.Join(dir, "standalone")
	none := &mcpFigures{name: "bare server", argv: []string{server}}
	sdk := &mcpFigures{name: "SDK proxy", argv: []string{must(os.Executable()), "mcp", sdkProxyRole, server}}
	ours := &mcpFigures{name: "plimsoll", argv: []string{filepath.Join(dir, "plimsoll"), "mcp", "--quiet", "--", server}}
	// In turn, so that what else the machine does meets all of them.
	const rounds = 4
	for range rounds {
		for _, f := range []*mcpFigures{none, sdk, ours} {
			f.measureSmall(o, dir)
		}
	}
	for _, f := range []*mcpFigures{sdk, ours} {
		for _, size := range largeResults {
			f.measureLarge(o, dir, size)
		}
	}
	for _, base := range []*mcpFigures{none, sdk} {
		for _, q := range quantiles {
			o.Add(Row{Case: "1 KB result", Metric: "latency " + q.name, Value: us(quantile(ours.latency, q.part)), Unit: "us", Baseline: base.name, BaselineValue: us(quantile(base.latency, q.part))})
		}
		o.Add(Row{Case: "1 KB result", Metric: "throughput", Value: ours.rate(), Unit: "calls/s", Baseline: base.name, BaselineValue: base.rate()})
	}
	o.Add(Row{Case: "1 KB result", Metric: "cpu per call", Value: us(ours.cpu / time.Duration(ours.calls)), Unit: "us", Baseline: sdk.name, BaselineValue: us(sdk.cpu / time.Duration(sdk.calls))})
	for i, size := range largeResults {
		name := fmt.Sprintf("%d MiB result", size>>20)
		our, their := ours.results[i], sdk.results[i]
		o.Add(Row{Case: name, Metric: "time", Value: ms(our.took), Unit: "ms", Baseline: sdk.name, BaselineValue: ms(their.took)})
		o.Add(Row{Case: name, Metric: "RssAnon peak", Value: mib(our.anon), Unit: "MiB", Baseline: sdk.name, BaselineValue: mib(their.anon)})
		for _, f := range []*mcpFigures{ours, sdk} {
			if err := f.results[i].err; err != nil {
				o.Note("%s, %s: it failed: %v", f.name, name, err)
			}
		}
	}
	o.Note("Large results: the SDK proxy hands the client all of it; plimsoll keeps it on disk and hands out the first page.")
}

// mcpFigures are of one way to the server.
type mcpFigures struct {
	name    string
	argv    []string
	latency []time.Duration
	calls   int           // of the measure of throughput
	took    time.Duration // for them
	cpu     time.Duration // of the process between, for the calls of throughput
	results []largeResult // as largeResults
}

// largeResults are the sizes that are asked for, in bytes. The official library takes no
// line over 16 MiB.
var largeResults = []int{12 << 20, 64 << 20}

type largeResult struct {
	took time.Duration
	anon int64 // the highest RssAnon that was seen
	err  error
}

func (f *mcpFigures) rate() float64 { return float64(f.calls) / f.took.Seconds() }

// mcpHead is as much of an answer as is looked at.
const mcpHead = 256

// measureSmall calls echo with 1 KB, one call after the other and then 32 at a time, and notes the times and the processor time.
func (f *mcpFigures) measureSmall(o *Out, dir string) {
	c := o.startRaw(dir, f.argv)
	defer c.stop()
	args := map[string]any{"text": strings.Repeat("0123456789abcdef", 64)}
	for i := range 600 {
		begin := time.Now()
		check(c.send("echo", args))
		must(c.readAnswer(mcpHead))
		if i >= 100 { // the first ones warm up
			f.latency = append(f.latency, time.Since(begin))
		}
	}
	const calls, ahead = 4000, 32
	cpu := cpuOf(c.cmd.Process.Pid)
	begin := time.Now()
	for i := range calls + ahead {
		if i < calls {
			check(c.send("echo", args))
		}
		if i >= ahead {
			must(c.readAnswer(mcpHead))
		}
	}
	f.took += time.Since(begin)
	f.cpu += cpuOf(c.cmd.Process.Pid) - cpu
	f.calls += calls
}

// measureLarge asks once for a large text, and notes the time and the memory of the process in between.
func (f *mcpFigures) measureLarge(o *Out, dir string, size int) {
	c := o.startRaw(dir, f.argv)
	defer c.stop()
	stop := watchPeaks(c.cmd.Process.Pid)
	begin := time.Now()
	err := c.send("big", map[string]any{"bytes": size, "kind": "lines"})
	if err == nil {
		_, err = c.readAnswer(mcpHead)
	}
	r := largeResult{took: time.Since(begin), err: err}
	r.anon, _ = stop()
	f.results = append(f.results, r)
}

// rawClient speaks MCP over a child's standard streams with as little work as can be.
type rawClient struct {
	*child
	wrote int
}

// startRaw starts an MCP server over standard streams and initializes the session.
func (o *Out) startRaw(dir string, argv []string, env ...string) *rawClient {
	cmd := exec.CommandContext(o.ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, "state"), "PLIMSOLL_CACHE_DIR="+filepath.Join(dir, "cache"), "PLIMSOLL_CONFIG="+filepath.Join(dir, "none.toml"))
	cmd.Env = append(cmd.Env, env...)
	c := &rawClient{child: startChild(cmd)}
	check(c.write("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`))
	must(c.readAnswer(mcpHead))
	must(io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))
	return c
}

func (c *rawClient) write(method, params string) error {
	c.wrote++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.wrote, method, params)
	return err
}

func (c *rawClient) send(tool string, args map[string]any) error {
	return c.write("tools/call", string(must(json.Marshal(map[string]any{"name": tool, "arguments": args}))))
}

// readAnswer reads lines until one is a response, and returns at most most bytes of it. An error response is an error.
func (c *rawClient) readAnswer(most int) (head []byte, err error) {
	for {
		head = head[:0]
		for more := true; more; {
			part, err := c.out.ReadSlice('\n')
			head = append(head, part[:min(len(part), most-len(head))]...)
			if more = err == bufio.ErrBufferFull; err != nil && !more {
				return nil, fmt.Errorf("%w: %.300s", err, bytes.TrimSpace(c.log.Bytes()))
			}
		}
		switch start := head[:min(len(head), mcpHead)]; {
		case bytes.Contains(start, []byte(`"error"`)):
			return nil, fmt.Errorf("%.200s", head)
		case !bytes.Contains(start, []byte(`"method"`)) && bytes.Contains(start, []byte(`"jsonrpc"`)): // some have their id behind the result
			return head, nil
		}
	}
}

// sdkProxy serves MCP on standard streams with the official library until they end: it starts the server argv, lists its tools and passes
// calls on.
func sdkProxy(ctx context.Context, argv []string) {
	client := mcp.NewClient(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	up := must(client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, argv[0], argv[1:]...)}, nil))
	defer up.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for tool, err := range up.Tools(ctx, nil) {
		check(err)
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	check(server.Run(ctx, &mcp.StdioTransport{}))
}
