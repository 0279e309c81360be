package wire

import "testing"

func TestDropEmptyCalls(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"role":"assistant","content":"x","tool_calls":[]}`, `{"role":"assistant","content":"x"}`},
		{`{"tool_calls": [ ] , "role":"assistant","content":"x"}`, `{"role":"assistant","content":"x"}`},
		{`{"role":"assistant","tool_calls":[],"content":"x"}`, `{"role":"assistant","content":"x"}`},
		{`{"role":"assistant","content":"x","tool_calls":null}`, ``},
		{`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]}`, ``},
		{`{"role":"user","content":"x"}`, ``},
	} {
		r := parsed(t, Chat, `{"messages":[`+c.in+`]}`)
		d := r.Draft()
		if got := d.DropEmptyCalls(0); got != (c.want != "") || got != r.Messages[0].EmptyCalls() {
			t.Errorf("%s: %v", c.in, got)
		}
		next, err := d.Build()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(next.Raw(next.Messages[0].Span)); c.want != "" && got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	r, _ := Parse(Chat, []byte(`{"messages":[]}`))
	d := r.Draft()
	if d.DropEmptyCalls(0) {
		t.Error("a message that is not there")
	}
	if _, err := d.Build(); err == nil {
		t.Error("a wrong index is not reported")
	}
}
