package repair_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What only the provider can know, because it keeps the call, is repaired by what its refusal names.
func TestTold(t *testing.T) {
	const open, nothing = "No tool output found for function call call_1.", "No tool call found for function call output with call_id call_1."
	const user, out = `{"role":"user","content":"go on"}`, `{"type":"function_call_output","call_id":"call_1","output":"x"}`
	for _, tt := range []struct{ name, body, words, kinds, want string }{
		{
			"a call that is kept", `{"previous_response_id":"r","input":[` + user + `]}`, open,
			"synthesised", `"input":[{"type":"function_call_output","call_id":"call_1",`,
		},
		{
			"an input of words", `{"conversation":"c","input":"go on"}`, "No tool output found for custom tool call call_1.",
			"synthesised", `[{"type":"custom_tool_call_output","call_id":"call_1",`,
		},
		{
			"one of two is answered", `{"previous_response_id":"r","input":[` + strings.Replace(out, "call_1", "call_2", 1) + `]}`, open,
			"synthesised", `"call_id":"call_1"`,
		},
		{
			"an output of nothing", `{"previous_response_id":"r","input":[` + out + `,` + user + `]}`, nothing,
			"dropped", `"input":[` + user + `]`,
		},
		{
			"nothing but an output of nothing", `{"previous_response_id":"r","input":[` + out + `]}`, nothing,
			"dropped", `Only results of tools`,
		},
		{
			"behind a compaction", `{"input":[{"type":"compaction","encrypted_content":"eA=="},` + out + `,` + user + `]}`, nothing,
			"dropped", `"eA=="},` + user,
		},
		{"the whole history is here", `{"input":[` + user + `]}`, open, "", ""},
		{"another call", `{"previous_response_id":"r","input":[` + out + `]}`, "No tool call found for function call output with call_id call_9.", "", ""},
		{"it is answered", `{"previous_response_id":"r","input":[` + out + `]}`, open, "", ""},
		{"a screen", `{"previous_response_id":"r","input":[` + user + `]}`, "No tool output found for computer call call_1.", "", ""},
		{"another refusal", `{"previous_response_id":"r","input":[` + user + `]}`, "Invalid value", "", ""},
	} {
		r, err := wire.Parse(wire.Responses, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		next, actions, err := repair.RepairRefused(r, tt.words)
		if err != nil || kinds(actions) != tt.kinds || !strings.Contains(string(next.Body), tt.want) || (next == r) != (tt.kinds == "") {
			t.Errorf("%s: %q, %v: %s", tt.name, kinds(actions), err, next.Body)
		}
		if again, _, _ := repair.RepairRefused(next, tt.words); again != next {
			t.Errorf("%s: told again it becomes %s", tt.name, again.Body)
		}
	}
}
