package repair_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

var dialects = []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Converse}

// body makes a request of a list of messages.
func body(d wire.Dialect, list string) []byte {
	switch d {
	case wire.Responses:
		return []byte(`{"model":"m","input":[` + list + `]}`)
	case wire.Gemini:
		return []byte(`{"contents":[` + list + `]}`)
	}
	if d == wire.Converse {
		return []byte(`{"messages":[` + list + `],"toolConfig":{}}`)
	}
	return []byte(`{"model":"m","max_tokens":10,"messages":[` + list + `]}`)
}

func parse(t testing.TB, d wire.Dialect, text []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

// compact takes out white space, so that lists can be written readably.
func compact(t testing.TB, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// fix repairs, and holds the outcome to what is promised of every repair.
func fix(t testing.TB, d wire.Dialect, text []byte, o repair.Options) (*wire.Request, []repair.Action) {
	t.Helper()
	r := parse(t, d, text)
	next, actions, err := repair.Repair(r, o)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if (next == r) != (len(actions) == 0) {
		t.Errorf("%d actions, same request: %v", len(actions), next == r)
	}
	if string(r.Body) != string(text) {
		t.Error("the body that came was changed")
	}
	if again, more, err := repair.Repair(next, o); err != nil || again != next || len(more) != 0 {
		t.Errorf("a second repair: %+v, %v\nof   %s\nfrom %s", more, err, next.Body, text)
	}
	if twin, _, _ := repair.Repair(parse(t, d, slices.Clone(text)), o); string(twin.Body) != string(next.Body) {
		t.Errorf("another repair of the same differs:\n%s\n%s", twin.Body, next.Body)
	}
	keeps(t, r, next)
	return next, actions
}

// words are the texts of users and models, in order.
func words(r *wire.Request) (list []string) {
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == wire.Text {
				for _, lit := range p.Texts {
					list = append(list, string(r.Raw(lit)))
				}
			}
		}
	}
	return list
}

// keeps holds a repair to losing no words, and no result whose call is there.
func keeps(t testing.TB, before, after *wire.Request) {
	t.Helper()
	put := func(s string) bool {
		return strings.HasPrefix(s, `"[No message`) || strings.HasPrefix(s, `"[The beginning`) || strings.HasPrefix(s, `"[Only results`)
	}
	if got := slices.DeleteFunc(words(after), put); !slices.Equal(got, slices.DeleteFunc(words(before), put)) {
		t.Errorf("words were lost or moved:\nbefore %q\nafter  %q\nin %s", words(before), got, before.Body)
	}
}

// results are the texts of results by id of the call, notes left out.
func results(r *wire.Request) map[string][]string {
	found := map[string][]string{}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == wire.Result {
				var b strings.Builder
				for _, lit := range p.Texts {
					b.Write(wire.Unquote(nil, r.Raw(lit)))
				}
				if !strings.Contains(b.String(), repair.Note) {
					key := p.CallID
					if r.Dialect == wire.Gemini {
						key = p.Name
					}
					found[key] = append(found[key], b.String())
				}
			}
		}
	}
	return found
}

// valid holds a request to the provider's rules, the open last turn left out.
func valid(t testing.TB, d wire.Dialect, r *wire.Request, from []byte) {
	t.Helper()
	closed := r
	if end := len(r.Messages); end > 0 && r.Messages[end-1].Role == wire.RoleAssistant {
		d := r.Draft()
		if r.Dialect == wire.Responses {
			for end > 0 && r.Messages[end-1].Role == wire.RoleAssistant {
				end--
			}
		} else {
			end--
		}
		d.DropMessages(end, len(r.Messages))
		var err error
		if closed, err = d.Build(); err != nil {
			t.Fatal(err)
		}
	}
	if len(closed.Messages) == 0 {
		return
	}
	// A cut may have taken the thoughts that the running turn began with. That is nothing that
	// pairing can put right.
	thoughtless := func(err error) bool {
		invalid, ok := errors.AsType[*wire.Invalid](err)
		return ok && invalid.Rule == wire.RuleThinkingFirst // it is judged last
	}
	if err := wire.Validate(d, closed.Alternating()); err != nil && !thoughtless(err) {
		t.Errorf("%v\nafter  %s\nbefore %s", err, r.Body, from)
	}
	// What the gateway asks before it sends an edited body.
	if err := wire.ValidateEdit(d, from, r.Alternating()); err != nil && !thoughtless(err) {
		t.Errorf("the edit broke %v\nafter  %s\nbefore %s", err, r.Body, from)
	}
}

func kinds(actions []repair.Action) string {
	var list []string
	for _, a := range actions {
		list = append(list, a.Kind)
	}
	return strings.Join(list, " ")
}
