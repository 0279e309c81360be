package repair_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A client was stopped while a tool ran, and went on.
func ExampleRepair() {
	body := []byte(`{"messages":[` +
		`{"role":"user","content":"list the files"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]},` +
		`{"role":"user","content":"never mind"}]}`)
	r, err := wire.Parse(wire.Chat, body)
	if err != nil {
		fmt.Println(err) // forward the body as it came
		return
	}
	next, actions, err := repair.Repair(r, repair.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(actions[0].Kind, actions[0].CallID)
	fmt.Println(string(next.Raw(next.Messages[2].Span)))
	// Output:
	// synthesised c1
	// {"role":"tool","tool_call_id":"c1","content":"[No result was recorded for this call. It may or may not have run. Do not repeat it only because of this note.]"}
}
