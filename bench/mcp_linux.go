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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func init() {
	register("mcp", "the MCP gateway over standard streams against the bare server and a proxy of the official SDK (Linux; 30 s)", mcpBench)
}

// sdkProxyRole makes this program the baseline: what one writes in an hour with the
// official library to stand between a client and a server.
const sdkProxyRole = "child-sdk-proxy"

func mcpBench(ctx context.Context, o *Out, args []string) error {
	if len(args) > 1 && args[0] == sdkProxyRole {
		return sdkProxy(ctx, args[1:])
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/plimsoll", "./internal/testing/toolserver/standalone")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server := filepath.Join(dir, "standalone")
	ways := []struct {
		name string
		argv []string
	}{
		{"bare server", []string{server}},
		{"SDK proxy", []string{self, "mcp", sdkProxyRole, server}},
		{"plimsoll", []string{filepath.Join(dir, "plimsoll"), "mcp", "--quiet", "--", server}},
	}
	measured := map[string]*mcpFigures{}
	for _, way := range ways {
		measured[way.name] = &mcpFigures{}
	}
	// In turn, so that what else the machine does meets all of them.
	const rounds = 4
	for range rounds {
		for _, way := range ways {
			if err := measured[way.name].small(ctx, dir, way.argv); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	for _, way := range ways[1:] {
		for _, size := range largeResults {
			if err := measured[way.name].large(ctx, dir, way.argv, size); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	ours, sdk, none := measured["plimsoll"], measured["SDK proxy"], measured["bare server"]
	for _, base := range []struct {
		name string
		f    *mcpFigures
	}{{"bare server", none}, {"SDK proxy", sdk}} {
		o.Add(Row{Case: "1 KB result", Metric: "latency p50", Value: us(median(ours.latency)), Unit: "us", Baseline: base.name, BaselineValue: us(median(base.f.latency))})
		o.Add(Row{Case: "1 KB result", Metric: "latency p99", Value: us(quantile(ours.latency, 0.99)), Unit: "us", Baseline: base.name, BaselineValue: us(quantile(base.f.latency, 0.99))})
		o.Add(Row{Case: "1 KB result", Metric: "throughput", Value: ours.rate(), Unit: "calls/s", Baseline: base.name, BaselineValue: base.f.rate()})
	}
	o.Add(Row{Case: "1 KB result", Metric: "cpu per call", Value: us(ours.cpu / time.Duration(ours.calls)), Unit: "us", Baseline: "SDK proxy", BaselineValue: us(sdk.cpu / time.Duration(sdk.calls))})
	for i, size := range largeResults {
		name := fmt.Sprintf("%d MiB result", size>>20)
		us, them := ours.results[i], sdk.results[i]
		o.Add(Row{Case: name, Metric: "time", Value: ms(us.took), Unit: "ms", Baseline: "SDK proxy", BaselineValue: ms(them.took)})
		o.Add(Row{Case: name, Metric: "RssAnon peak", Value: float64(us.anon) / (1 << 20), Unit: "MiB", Baseline: "SDK proxy", BaselineValue: float64(them.anon) / (1 << 20)})
		for who, r := range map[string]largeResult{"plimsoll": us, "SDK proxy": them} {
			if r.broke != "" {
				o.Note("%s, %s: it failed: %s", who, name, r.broke)
			}
		}
	}
	o.Note("Large results: the SDK proxy hands the client all of it; plimsoll keeps it on disk and hands out the first page.")
	return nil
}

type mcpFigures struct {
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
	took  time.Duration
	anon  int64 // the highest RssAnon that was seen
	broke string
}

func (f *mcpFigures) rate() float64 { return float64(f.calls) / f.took.Seconds() }

// small calls echo with 1 KB, one after the other and then 32 at a time.
func (f *mcpFigures) small(ctx context.Context, dir string, argv []string) error {
	c, err := startRaw(ctx, dir, argv)
	if err != nil {
		return err
	}
	defer c.stop()
	text := strings.Repeat("0123456789abcdef", 64)
	for i := range 600 {
		begin := time.Now()
		if _, err := c.call("echo", map[string]any{"text": text}); err != nil {
			return err
		}
		if i >= 100 { // the first ones warm up
			f.latency = append(f.latency, time.Since(begin))
		}
	}
	const calls, ahead = 4000, 32
	cpu := c.cpu()
	begin := time.Now()
	for i := range calls + ahead {
		if i < calls {
			if err := c.send("echo", map[string]any{"text": text}); err != nil {
				return err
			}
		}
		if i >= ahead {
			if _, err := c.answer(); err != nil {
				return err
			}
		}
	}
	f.took += time.Since(begin)
	f.cpu += c.cpu() - cpu
	f.calls += calls
	return nil
}

// large asks once for a large text and watches the memory of the process between.
func (f *mcpFigures) large(ctx context.Context, dir string, argv []string, size int) error {
	c, err := startRaw(ctx, dir, argv)
	if err != nil {
		return err
	}
	defer c.stop()
	var peak atomic.Int64
	end, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			peak.Store(max(peak.Load(), anonOf(c.cmd.Process.Pid)))
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	begin := time.Now()
	_, err = c.call("big", map[string]any{"bytes": size, "kind": "lines"})
	r := largeResult{took: time.Since(begin)}
	close(end)
	<-watched
	if r.anon = peak.Load(); err != nil {
		r.broke = err.Error()
	}
	f.results = append(f.results, r)
	return nil
}

// rawClient speaks MCP over a child's standard streams with as little work as can be.
type rawClient struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	wrote int
	log   bytes.Buffer
}

func startRaw(ctx context.Context, dir string, argv []string, env ...string) (*rawClient, error) {
	c := &rawClient{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	c.cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, "state"), "PLIMSOLL_CACHE_DIR="+filepath.Join(dir, "cache"), "PLIMSOLL_CONFIG="+filepath.Join(dir, "none.toml"))
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = &c.log
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<20)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := c.write("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return nil, err
	}
	if _, err := c.answer(); err != nil {
		c.stop()
		return nil, err
	}
	_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

func (c *rawClient) write(method, params string) error {
	c.wrote++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.wrote, method, params)
	return err
}

func (c *rawClient) send(tool string, args map[string]any) error {
	data, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return err
	}
	return c.write("tools/call", string(data))
}

// answer reads lines until one is a response; it tells its size.
func (c *rawClient) answer() (int, error) {
	for {
		size, head := 0, []byte(nil)
		for {
			part, err := c.out.ReadSlice('\n')
			size += len(part)
			if head == nil {
				head = bytes.Clone(part[:min(len(part), 256)])
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil {
				return size, fmt.Errorf("%w: %s", err, bytes.TrimSpace(c.log.Bytes()[:min(c.log.Len(), 300)]))
			}
			break
		}
		if bytes.Contains(head, []byte(`"error"`)) {
			return size, fmt.Errorf("%.200s", head)
		}
		if bytes.Contains(head, []byte(`"id"`)) && !bytes.Contains(head, []byte(`"method"`)) {
			return size, nil
		}
	}
}

func (c *rawClient) call(tool string, args map[string]any) (int, error) {
	if err := c.send(tool, args); err != nil {
		return 0, err
	}
	return c.answer()
}

func (c *rawClient) stop() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait()
}

// cpu returns what the child itself has used, without its children.
func (c *rawClient) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func anonOf(pid int) int64 { return statusOf(pid, "RssAnon:") }

// sdkProxy lists the server's tools and passes calls on, with the official library.
func sdkProxy(ctx context.Context, argv []string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	up, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, argv[0], argv[1:]...)}, nil)
	if err != nil {
		return err
	}
	defer up.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for tool, err := range up.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return server.Run(ctx, &mcp.StdioTransport{})
}
