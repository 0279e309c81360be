package reasoning

import (
	"bytes"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func FuzzRefused(f *testing.F) {
	for _, tt := range refusals {
		f.Add(tt.status, "application/json", []byte(tt.body))
		f.Add(200, "text/event-stream", []byte("data: "+tt.body+"\n\n"))
	}
	f.Add(400, "", []byte(`{"error":{"message":"messages.99999999999999999999.content.: invalid signature in thinking block rs_"}}`))
	f.Add(400, "", bytes.Repeat([]byte(`{"error":`), 50_000))
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		before := bytes.Clone(body)
		no, ok := Refused(status, contentType, body)
		if !bytes.Equal(before, body) {
			t.Error("the body was changed")
		}
		if ok != (no.Form != "") || ok && (no.Cause == 0 || no.Message < -1 || no.Part < -1 || no.Message < 0 && no.Part >= 0) {
			t.Errorf("%+v, %v", no, ok)
		}
		RuleFor(contentType, string(body)) // a name is as foreign as a body
	})
}

func FuzzWithout(f *testing.F) {
	for _, body := range []string{
		`{"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + sealed + `,` + calls + `]},` + result + `]}`,
		`{"thinking":{"type":"enabled"},"messages":[` + question + `,{"role":"assistant","content":[` + thought + `,` + calls + `]},` + result + `]}`,
		`{"store":false,"input":[` + userItem + `,` + rsSealed + `,` + rsKept + `,` + callItem + `,` + outItem + `]}`,
		`{"messages":[` + question + `,{"role":"assistant","content":null,"reasoning":"w","reasoning_details":[{}],` + chatCalls + `},` + chatOut + `]}`,
		`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"AA=="}]}]}`,
	} {
		for d := wire.Chat; d <= wire.Gemini; d++ {
			f.Add(uint8(d), 0, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, dialect uint8, from int, body []byte) {
		d := wire.Dialect(dialect%4) + 1
		r, err := wire.Parse(d, body)
		if err != nil {
			return
		}
		next, n, err := Without(r, from)
		if err != nil || n == 0 {
			if next != r {
				t.Errorf("%d parts, %v, and another request", n, err)
			}
			return
		}
		if broken := wire.ValidateEdit(d, r.Body, next.Body); broken != nil {
			t.Errorf("%v\n%s\n%s", broken, body, next.Body)
		}
		if _, again, _ := Without(next, from); again != 0 && len(next.Messages) == len(r.Messages) {
			t.Errorf("%d more on a second time: %s", again, next.Body)
		}
		for _, cause := range []Cause{Changed, Foreign, Missing, Wanted} {
			if _, _, err := Mend(r, Refusal{Cause: cause, Message: from, Part: -1}); err != nil {
				t.Errorf("%s: %v", cause, err)
			}
		}
	})
}
