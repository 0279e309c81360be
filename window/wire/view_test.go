package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// checkView holds a view of a valid JSON body against encoding/json.
func checkView(t *testing.T, r *Request) {
	t.Helper()
	if !json.Valid(r.Body) {
		return // what is skipped is not checked, so only spans are promised
	}
	value := func(what string, s Span) {
		t.Helper()
		if !s.IsZero() && !json.Valid(r.Raw(s)) {
			t.Errorf("%s is no value: %s", what, r.Raw(s))
		}
	}
	literal := func(what string, s Span) string {
		t.Helper()
		var text string
		if !s.IsZero() {
			if err := json.Unmarshal(r.Raw(s), &text); err != nil {
				t.Errorf("%s is no string: %s", what, r.Raw(s))
			}
		}
		return text
	}
	// encoding/json replaces bytes that are no UTF-8, a view keeps them.
	replaced := func(s string) string { return string([]rune(s)) }
	if got, want := replaced(r.Model), literal("model", r.ModelSpan); got != want {
		t.Errorf("model %q, want %q", r.Model, want)
	}
	value("system", r.SystemSpan)
	value("tools", r.ToolsSpan)
	value("list", r.List)
	value("output", r.MaxOutputSpan)
	for _, s := range r.Extra {
		value("extra", s)
	}
	for _, tool := range r.Tools {
		value("tool", tool.Span)
		if !r.ToolsSpan.Contains(tool.Span) {
			t.Errorf("tool %v lies outside %v", tool.Span, r.ToolsSpan)
		}
	}
	end := r.List.Start
	parts := func(in Span, all []Part) {
		for i := range all {
			p := &all[i]
			value("part", p.Span)
			value("raw", p.Raw)
			value("content", p.Content)
			literal("sealed", p.Sealed)
			if id := literal("id", p.IDSpan); id != replaced(p.CallID) {
				t.Errorf("id %q, want %q", p.CallID, id)
			}
			if p.End != NoEnd && (p.Kind != Other || p.CallID == "" && !r.Dialect.Rules().ByName) {
				t.Errorf("part %+v is the end of a pair", p)
			}
			for _, s := range append(slices.Clone(p.Texts), p.Sealed, p.IDSpan, p.Raw, p.Content) {
				if !s.IsZero() && !p.Span.Contains(s) {
					t.Errorf("%v lies outside part %v", s, p.Span)
				}
			}
			for _, s := range p.Texts {
				literal("text", s)
			}
			for _, m := range p.Media {
				if !p.Span.Contains(m.Head) && !m.Head.IsZero() || m.Head.Len() > min(HeadBytes, m.Base64) {
					t.Errorf("media %+v of part %v", m, p.Span)
				}
			}
			if !in.Contains(p.Span) {
				t.Errorf("part %v lies outside %v", p.Span, in)
			}
		}
	}
	parts(r.SystemSpan, r.System)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Span.Start < end || m.Span.End > r.List.End {
			t.Errorf("message %d at %v, list %v, the last ended at %d", i, m.Span, r.List, end)
		}
		end = m.Span.End
		value("message", m.Span)
		value("content", m.Content)
		parts(m.Span, m.Parts)
	}
	var same []Edit
	for i := range r.Messages {
		same = append(same, Edit{Span: r.Messages[i].Span, With: r.Raw(r.Messages[i].Span)})
	}
	if body, err := Splice(r.Body, same); err != nil || !bytes.Equal(body, r.Body) {
		t.Errorf("every message in its own place: %v, %s", err, body)
	}
	for i, s := range r.Marks {
		if i > 0 && s.Start < r.Marks[i-1].End {
			t.Errorf("marks %v and %v", r.Marks[i-1], s)
		}
	}
	checkFingerprints(t, r)
	checkUnits(t, r)
}

// checkFingerprints holds that taking out the marks leaves JSON.
func checkFingerprints(t *testing.T, r *Request) {
	t.Helper()
	for i := range r.Messages {
		if got := fingerprint(r, i); !json.Valid([]byte(got)) {
			t.Errorf("fingerprint of message %d is no JSON: %s", i, got)
		}
	}
	var head []byte
	r.FingerprintHead(func(b []byte) { head = append(head, b...) })
	system, tools, ok := strings.Cut(strings.TrimPrefix(string(head), "system:"), "tools:")
	if !strings.Contains(string(r.Raw(r.SystemSpan)), "tools:") && ok {
		for _, s := range []string{system, tools} {
			if s != "" && !json.Valid([]byte(s)) {
				t.Errorf("fingerprint of the head is no JSON: %s", head)
			}
		}
	}
}

func fingerprint(r *Request, msg int) string {
	var b []byte
	r.Fingerprint(msg, func(p []byte) { b = append(b, p...) })
	return string(b)
}

// checkUnits holds that units cover all messages, in order, and only the last is open.
func checkUnits(t *testing.T, r *Request) {
	t.Helper()
	at := 0
	units := r.Units()
	for i, u := range units {
		if u.From != at || u.To <= u.From || u.Open != (i == len(units)-1) || u.Pending < 0 {
			t.Errorf("units %+v", units)
		}
		at = u.To
	}
	if at != len(r.Messages) {
		t.Fatalf("units %+v do not cover %d messages", units, len(r.Messages))
	}
	opened := map[string]int{} // by id: the unit of what opened a pair
	for i := range units {
		for m := units[i].From; m < units[i].To; m++ {
			for _, p := range r.Messages[m].Parts {
				switch u, ok := opened[p.CallID]; {
				case p.End == Opens:
					opened[p.CallID] = i
				case p.End == Closes && ok && u != i:
					t.Errorf("what closes %q in message %d is in another unit of %+v", p.CallID, m, units)
				}
			}
		}
	}
}
