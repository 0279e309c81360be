package wire_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/window/wire"
)

func ExampleRequest_Draft() {
	body := []byte(`{"model":"m", "messages":[{"role":"user","content":"fix it"},
  {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]},
  {"role":"tool","tool_call_id":"1","content":"ten thousand lines"}], "top_p":0.10}`)
	r, err := wire.Parse(wire.Chat, body)
	if err != nil {
		fmt.Println(err) // forward the body as it came
		return
	}
	d := r.Draft()
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if r.Messages[i].Parts[j].Kind == wire.Result {
				d.ReplaceResult(i, j, "[cut]")
			}
		}
	}
	next, err := d.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(next.Body))
	// Output:
	// {"model":"m", "messages":[{"role":"user","content":"fix it"},
	//   {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}]},
	//   {"role":"tool","tool_call_id":"1","content":"[cut]"}], "top_p":0.10}
}

func ExampleAnswer() {
	a := wire.NewAnswer(wire.Messages, true)
	for _, piece := range []string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_in",
		"put_tokens\":900}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
		"\"usage\":{\"output_tokens\":12}}\n\n",
	} {
		_, _ = a.Write([]byte(piece))
	}
	fmt.Println(a.Usage.Input, a.Usage.Output, a.StopReason, a.Begun)
	// Output: 903 12 end_turn false
}
