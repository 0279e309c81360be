package mend_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

// An answer ended at its output limit in the middle of a call.
func ExampleMend() {
	body := []byte(`{"model":"gpt-5.1","messages":[` +
		`{"role":"user","content":"write the file"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"write","arguments":"{\"path\":\"a.md\",\"text\":\"# Title\\nThe fir"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"EOF while parsing a string"}]}`)
	r, err := wire.Parse(wire.Chat, body)
	if err != nil {
		fmt.Println(err) // forward the body as it came
		return
	}
	next, actions, err := mend.Mend(r, mend.Options{Provider: "openai"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(actions[0].Kind, actions[0].CallID)
	fmt.Println(next.Words(&next.Messages[1].Parts[0]))
	fmt.Println(next.Words(&next.Messages[2].Parts[0]))
	// Output:
	// closed c1
	// {"path":"a.md","text":"# Title\nThe fir"}
	// [The arguments of this call were cut by the output limit; what was missing is not there. Call again with less at once.]
	// EOF while parsing a string
}
