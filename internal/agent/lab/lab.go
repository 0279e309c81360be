// Package lab has tools that misbehave, for the demonstration and for tests: flood (as many bytes as are asked for), hang (until the call is
// taken back), build (memory, in a child process of that name), fail (an error or a panic), count (a job that is polled) and echo.
//
// build starts Options.Hog with the number of MiB as its last argument; that program calls [Hog]. It ends when its standard input does, so
// it does not outlive its parent, and on Linux it asks to be the first that the kernel kills. Where it is killed the result is an error
// that names the limit, and how far it came.
//
// Tools may be called from any goroutine. A flood holds 32 KiB, whatever its size up to [MaxFlood]; at most [MaxChildren] children take at
// most [MaxHog] each; count remembers [MaxCounts] counts.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// MaxFlood bounds one flood.
const MaxFlood = 1 * limit.GiB

// Options configure the tools.
type Options struct {
	// Hog is the program, with its arguments, that calls [Hog] with the number in one more
	// argument; often the own program with a command of its own. Without it there is no tool
	// build.
	Hog []string
	// Env is the child's environment; nil is an empty one.
	Env []string
}

const laboratory = "LABORATORY, for demonstrations and tests: "

// Tools returns the tools of the laboratory, with a state of their own.
func Tools(o Options) []builtin.Tool {
	counts := &counts{}
	tools := []builtin.Tool{
		builtin.Typed(builtin.Tool{
			Name: "flood", Title: "Flood a result",
			Description: laboratory + "answers with as many bytes of numbered lines as asked for.",
			Hints:       builtin.Hints{ReadOnly: true, Idempotent: true},
		}, flood),
		builtin.Typed(builtin.Tool{
			Name: "hang", Title: "Hang",
			Description: laboratory + "never answers; the call ends when it is taken back.",
			Hints:       builtin.Hints{ReadOnly: true},
		}, waitForever),
		builtin.Typed(builtin.Tool{
			Name: "fail", Title: "Fail",
			Description: laboratory + "answers with an error that says the message.",
			Hints:       builtin.Hints{ReadOnly: true},
		}, fail),
		builtin.Typed(builtin.Tool{
			Name: "count", Title: "Count by polling",
			Description: laboratory + `plays a job that takes a while: each call is one step further, until "done" is true. Call it again with the same arguments while it is false.`,
		}, counts.next),
		builtin.Typed(builtin.Tool{
			Name: "echo", Title: "Echo",
			Description: laboratory + "answers with the text that it is given.",
			Hints:       builtin.Hints{ReadOnly: true, Idempotent: true},
		}, echo),
	}
	if len(o.Hog) > 0 {
		tools = append(tools, newHogs(o).buildTool())
	}
	return tools
}

type nothing struct{}

func waitForever(ctx context.Context, _ *builtin.Call, _ nothing) (*builtin.Result, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

type failure struct {
	Message string `json:"message,omitempty" jsonschema:"What the error says"`
	Panic   bool   `json:"panic,omitempty" jsonschema:"Panic instead of answering"`
}

// fail is a tool that fails with the message it was called with, or panics if asked to.
func fail(_ context.Context, _ *builtin.Call, in failure) (*builtin.Result, error) {
	if in.Message == "" {
		in.Message = "the laboratory was asked for an error"
	}
	if in.Panic {
		panic(fmt.Sprintf("lab: asked to panic: %.200s", in.Message))
	}
	return nil, errors.New(in.Message)
}

type words struct {
	Text string `json:"text" jsonschema:"What to answer"`
}

func echo(_ context.Context, _ *builtin.Call, in words) (*builtin.Result, error) {
	return &builtin.Result{Text: in.Text}, nil
}

const (
	// MaxCounts bounds the counts that are remembered.
	MaxCounts = 64
	// maxTo bounds one count: nobody polls for longer.
	maxTo = 1_000_000
	// maxJob bounds the name of a count, in bytes.
	maxJob = 64
)

type poll struct {
	To  int    `json:"to" jsonschema:"How far to count"`
	Job string `json:"job,omitempty" jsonschema:"Which count, where there are several"`
}

// progress is the answer of a call of count.
type progress struct {
	Count int  `json:"count"`
	To    int  `json:"to"`
	Done  bool `json:"done"`
}

// counts are the counts under way, by who counts and the name of the count.
type counts struct {
	mu    sync.Mutex
	under map[[2]string]*count
	asked int64
}

type count struct {
	at   int
	last int64 // when it was asked for, by counts.asked
}

// next is a tool that counts one up at each call, by caller and job, and says when it has reached the number to. Polling it is the work of
// a test.
func (c *counts) next(_ context.Context, call *builtin.Call, in poll) (*builtin.Result, error) {
	switch {
	case in.To < 1 || in.To > maxTo:
		return nil, fmt.Errorf("to is %d: send a number from 1 to %d", in.To, maxTo)
	case len(in.Job) > maxJob:
		return nil, fmt.Errorf("job has %d bytes, more than %d: send a shorter name", len(in.Job), maxJob)
	}
	at := c.increment([2]string{call.Principal, in.Job}, in.To)
	return builtin.JSON(progress{Count: at, To: in.To, Done: at >= in.To})
}

// increment adds one to a count and returns it. A count that reaches to is forgotten.
func (c *counts) increment(key [2]string, to int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under = map[[2]string]*count{}
	}
	one := c.under[key]
	if one == nil {
		c.makeRoom()
		one = &count{}
		c.under[key] = one
	}
	c.asked++
	one.at, one.last = one.at+1, c.asked
	if one.at >= to {
		delete(c.under, key)
	}
	return one.at
}

// makeRoom forgets the counts that were used longest ago until one more fits within MaxCounts.
func (c *counts) makeRoom() {
	for len(c.under) >= MaxCounts {
		var oldest [2]string
		first := int64(-1)
		for key, one := range c.under {
			if first < 0 || one.last < first {
				oldest, first = key, one.last
			}
		}
		delete(c.under, oldest)
	}
}

// lineBytes is the length of a line of a flood with its end, and floodBytes what is written
// at once.
const (
	lineBytes  = 64
	floodBytes = 32 << 10
)

type amount struct {
	Bytes int64 `json:"bytes" jsonschema:"How many bytes"`
}

// flood is a tool that returns a number of bytes of numbered lines.
func flood(_ context.Context, _ *builtin.Call, in amount) (*builtin.Result, error) {
	if in.Bytes < 0 || in.Bytes > int64(MaxFlood) {
		return nil, fmt.Errorf("bytes is %d: send a number from 0 to %d (%s)", in.Bytes, int64(MaxFlood), MaxFlood.Human())
	}
	return &builtin.Result{Stream: func(ctx context.Context, w io.Writer) error {
		return pour(ctx, w, limit.Bytes(in.Bytes))
	}}, nil
}

// pour writes so many bytes of numbered lines.
func pour(ctx context.Context, w io.Writer, size limit.Bytes) error {
	filling := strings.Repeat(".", lineBytes)
	buffer := make([]byte, 0, floodBytes)
	for number, left := 1, int64(size); left > 0; {
		buffer = buffer[:0]
		for ; len(buffer)+lineBytes <= floodBytes; number++ {
			at := len(buffer)
			buffer = fmt.Appendf(buffer, "line %d ", number)
			buffer = append(buffer, filling[:lineBytes-1-(len(buffer)-at)]...)
			buffer = append(buffer, '\n')
		}
		if int64(len(buffer)) > left {
			buffer = buffer[:left]
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		left -= int64(len(buffer))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
