package lab

import (
	"context"
	"errors"
	"fmt"

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
		}, hang),
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
		tools = append(tools, newHogs(o).tool())
	}
	return tools
}

type nothing struct{}

func hang(ctx context.Context, _ *builtin.Call, _ nothing) (*builtin.Result, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

type failure struct {
	Message string `json:"message,omitempty" jsonschema:"What the error says"`
	Panic   bool   `json:"panic,omitempty" jsonschema:"Panic instead of answering"`
}

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
