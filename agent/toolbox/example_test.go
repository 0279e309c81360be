package toolbox_test

import (
	"context"
	"fmt"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

func Example() {
	type sum struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	add := builtin.Typed(builtin.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *builtin.Call, in sum) (*builtin.Result, error) {
			return &builtin.Result{Text: fmt.Sprint(in.A + in.B)}, nil
		})
	ctx := context.Background()
	box, err := toolbox.New(ctx, toolbox.Options{Functions: []builtin.Tool{add}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()

	fmt.Println(box.Check(agent.Call{Name: "add", Arguments: `{"a":17,"b":"many"}`}))
	out, err := box.Call(ctx, agent.Call{Name: "add", Arguments: `{"a":17,"b":4}`}, func(string) {})
	fmt.Println(out.Text, err)
	// Output:
	// the arguments of add do not fit: b is the string "many"; it must be an integer. Nothing was done. Send the call again with that mended.
	// 21 <nil>
}
