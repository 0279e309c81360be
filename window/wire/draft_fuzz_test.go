package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// FuzzDraft makes edits as the bytes of script say. Of a valid body every edit must make
// a valid body, in which what was not touched stands byte for byte and in order.
func FuzzDraft(f *testing.F) {
	for i, c := range edits {
		f.Add(uint8(c.dialect), []byte(c.body), []byte{byte(i), 1, 2, 0, 3, 1, 0, 4, 1, 1, 5, 2, 0, 6, 3, 0, byte(i), 2, 1})
	}
	for _, c := range views {
		f.Add(uint8(c.dialect), []byte(c.body), []byte{1, 4, 0, 2, 3, 1, 5, 4, 0, 6, 2, 0, 0, 1, 1})
	}
	f.Fuzz(func(t *testing.T, d uint8, body, script []byte) {
		r, err := Parse(Dialect(d), body)
		if err == nil && json.Valid(body) && len(script) <= 300 {
			checkEdits(t, r, script)
		}
	})
}

// checkEdits makes the edits of a script, three bytes for each.
func checkEdits(t *testing.T, r *Request, script []byte) *Request {
	t.Helper()
	edit := r.Draft()
	type fate struct {
		dropped, touched bool
		before           [][]byte
	}
	fates := make([]fate, len(r.Messages)+1)
	block := TextElement(r.Dialect, RoleUser, "inserted \"text\"")
	call := []byte(`{"id":"new","type":"function","function":{"name":"f","arguments":"{}"}}`)
	done := false
	for ; len(script) >= 3; script = script[3:] {
		i := int(script[1]) % (len(r.Messages) + 1)
		if script[0]%9 == 1 {
			raw := TextMessage(r.Dialect, RoleUser, "a new one")
			edit.InsertMessages(i, raw)
			fates[i].before = append(fates[i].before, raw)
			done = true
			continue
		}
		if i == len(r.Messages) {
			continue
		}
		m := &r.Messages[i]
		if script[0]%9 == 0 {
			edit.DropMessages(i, i+1)
			fates[i].dropped, done = true, true
			continue
		}
		whole := len(m.Parts) > 0 && m.Parts[0].place == placeWhole
		if script[0]%9 == 7 && !whole {
			raw := block
			if r.Dialect == Chat && script[2]%2 == 0 {
				raw = call
			}
			edit.InsertPart(i, int(script[2])%(len(m.Parts)+1), raw)
			fates[i].touched, done = true, true
		}
		if len(m.Parts) == 0 {
			continue
		}
		j := int(script[2]) % len(m.Parts)
		p := &m.Parts[j]
		done = true
		switch script[0] % 9 {
		case 2:
			edit.DropPart(i, j)
		case 3:
			if len(p.Texts) > 0 {
				edit.ReplaceText(i, j, int(script[2])%len(p.Texts), "words \"\\")
			}
		case 4:
			edit.ReplaceResult(i, j, "cut")
		case 5:
			if !p.IDSpan.IsZero() {
				edit.ReplaceCallID(i, j, "other")
			}
		case 6:
			if p.place == placeBlock || p.place == placePlain || p.place == placeOnly {
				edit.ReplacePart(i, j, block)
			}
		case 8:
			if !r.MaxOutputSpan.IsZero() {
				edit.SetMaxOutput(1 + j)
			}
			continue
		default:
			continue
		}
		fates[i].touched = true
	}
	next, err := edit.Build()
	if err != nil {
		t.Fatalf("%v\nof %s", err, r.Body)
	}
	if !done && next != r {
		t.Fatal("no edit made another request")
	}
	if !json.Valid(next.Body) {
		t.Fatalf("of %s\nbecame %s", r.Body, next.Body)
	}
	sameAsParsed(t, next)
	// What was not touched is there, in its order, with what was inserted.
	at := 0
	expect := func(raw []byte) {
		t.Helper()
		for ; at < len(next.Messages); at++ {
			if bytes.Equal(next.Raw(next.Messages[at].Span), raw) {
				at++
				return
			}
		}
		t.Errorf("%s is gone from %s\nof %s", raw, next.Body, r.Body)
	}
	for i, fate := range fates {
		for _, raw := range fate.before {
			expect(raw)
		}
		if i < len(r.Messages) && !fate.dropped && !fate.touched && r.Body[r.List.Start] != '"' {
			expect(r.Raw(r.Messages[i].Span))
		}
	}
	checkView(t, next)
	return next
}

// sameAsParsed holds a request that was made of another one to what reading its body gives.
func sameAsParsed(t *testing.T, made *Request) {
	t.Helper()
	want := parsed(t, made.Dialect, made.Body)
	got := *made
	if got.nparts < want.nparts || got.ntexts < want.ntexts {
		t.Errorf("%d parts and %d texts were counted, there are %d and %d", got.nparts, got.ntexts, want.nparts, want.ntexts)
	}
	got.nparts, got.ntexts = want.nparts, want.ntexts
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("made: %+v\nread: %+v\nof %s", got, *want, made.Body)
	}
}

// TestRandomEdits does the same with histories that are put together of the elements of
// all tables, with blanks between, as no fuzzer finds them.
func TestRandomEdits(t *testing.T) {
	pool := map[Dialect][]string{}
	for d := range dialects {
		for _, c := range views {
			collect(t, pool, Dialect(d), c.dialect, c.body)
		}
		for _, c := range edits {
			collect(t, pool, Dialect(d), c.dialect, c.body)
		}
	}
	// What may stand before the messages, or behind them.
	beside := map[Dialect]string{
		Chat:      `"model":"a","max_tokens":9,"response_format":{"type":"json_object"},"tools":[{"type":"function","function":{"name":"f"},"cache_control":{"type":"x"}}]`,
		Messages:  `"model":"a","max_tokens":9,"system":[{"type":"text","text":"You are.","cache_control":{"type":"x"}}],"tools":[{"cache_control":{"type":"x"},"name":"f","input_schema":{}}]`,
		Responses: `"model":"a","max_output_tokens":9,"instructions":"You are.","text":{"format":{}},"tools":[{"type":"function","name":"f"}]`,
		Gemini:    `"systemInstruction":{"parts":[{"text":"You are."}]},"generationConfig":{"maxOutputTokens":9,"responseSchema":{}},"tools":[{"functionDeclarations":[{"name":"f"}]}]`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	again := 0 // requests of which only some messages were read again
	for range 4000 {
		d := Dialect(1 + random.IntN(4))
		var b strings.Builder
		place := random.IntN(3)
		if b.WriteString("{"); place == 1 {
			b.WriteString(beside[d] + ", ")
		}
		b.WriteString(map[Dialect]string{Chat: `"messages" :[`, Messages: `"messages": [`, Responses: `"input":[`, Gemini: `"contents":[`}[d])
		for i := range random.IntN(9) {
			if i > 0 {
				b.WriteString([]string{",", " ,", ",\n ", " , "}[random.IntN(4)])
			}
			b.WriteString(pool[d][random.IntN(len(pool[d]))])
		}
		if b.WriteString([]string{"]", " ]", "\n] "}[random.IntN(3)]); place == 2 {
			b.WriteString("," + beside[d])
		}
		b.WriteString([]string{"}", "}\n"}[random.IntN(2)])
		r := parsed(t, d, b.String())
		script := make([]byte, 3*random.IntN(12))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		before := r.nparts
		next := checkEdits(t, r, script)
		if t.Failed() {
			t.Fatalf("edits %v of %s", script, b.String())
		}
		if next != r && next.nparts > before && len(next.Messages) == len(r.Messages) {
			again++
		}
	}
	if again < 100 {
		t.Errorf("only some messages were read again in %d requests", again)
	}
}

func collect(t *testing.T, pool map[Dialect][]string, want, d Dialect, body string) {
	t.Helper()
	if want != d {
		return
	}
	r := parsed(t, d, body)
	for i := range r.Messages {
		if raw := string(r.Raw(r.Messages[i].Span)); raw[0] == '{' {
			pool[d] = append(pool[d], raw)
		}
	}
}
