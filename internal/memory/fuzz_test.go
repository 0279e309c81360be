package memory

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// FuzzBody holds that the quick reader of bodies sees what encoding/json sees, or nothing.
func FuzzBody(f *testing.F) {
	id := strings.Repeat("0", idLen)
	for _, s := range []string{
		`{"id":"` + id + `","o":"u","n":12,"a":-5,"c":3,"t":"Read","f":"a/b","x":"words \"quoted\"\n"}`,
		`{"id":"` + id + `","x":""}`, `{"id":"` + id + `","x":"a","x":"b"}`, `{"id":"` + id + `","n":1e3,"x":"a"}`,
		`{"id":"` + id + `","o":"\u0075","x":"a"}`, `{"id":"` + id + `","n":-,"x":"a"}`, `{"id":"` + id + `"}`, `{"seen":3}`,
		`{"id":"` + id + `","x":"\ud83d\ude00 \ud83d"}`, `{"id":"` + id + `","n":999999999999999999999,"x":"a"}`, `{"id":"` + id + `","n":01,"x":"a\qb"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var fast entryBody
		ok := parseFast(bytes.Clone(text), &fast)
		if !ok || !json.Valid(text) || !utf8.Valid(text) { // what is read has a right checksum, and was written by encoding/json
			return
		}
		slow, err := decodeBody(text)
		if err != nil {
			return
		}
		slow.Tool, slow.File = "", ""
		a, _ := json.Marshal(slow)
		b, _ := json.Marshal(fast)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// FuzzRecord holds that a record that is taken is read again as it was, by both readers.
func FuzzRecord(f *testing.F) {
	f.Add("text", "speaker", "file", 3, int64(1_700_000_000_000), true)
	f.Add("a\n\"b\"\\\u2028<é>", "\x00", "/x y", -1, int64(-5), false)
	s := &Store{key: make([]byte, keyBytes)}
	f.Fuzz(func(t *testing.T, text, speaker, file string, turn int, said int64, note bool) {
		r := Record{
			Kind: KindEpisode, Origin: OriginUser, Namespace: "user", Text: text, Said: time.UnixMilli(said % (1 << 42)).UTC(),
			Source: Source{Speaker: speaker, File: file, Turn: turn},
		}
		if note {
			r.Kind = KindNote
		}
		if r.check() != nil {
			return
		}
		id := s.ids.next(time.UnixMilli(1_700_000_000_000))
		r.ID, r.Recorded, r.Count = id.String(), id.time(), 1
		use := storedUse{At: said, How: UsePrompt, Client: "claude", Conversation: speaker}
		line, err := s.encodeRecord(&r, 0, addUse(nil, use)...)
		if err == nil && !note {
			line, err = s.encodeRecord(&r, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := decodeBody(line.Body)
		if err != nil {
			t.Fatal(err)
		}
		if note && (len(b.Uses) != 1 || b.Uses[0] != use) {
			t.Fatalf("the use %+v became %+v", use, b.Uses)
		}
		shared, err := decodeShared(line.Shared)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.toRecord("user", &shared)
		if err != nil || !got.Said.Equal(r.Said) || got.Text != r.Text || got.Source != r.Source || got.Kind != r.Kind {
			t.Fatalf("%+v became %+v, %v", r, got, err)
		}
		var fast entryBody
		switch ok := parseFast(line.Body, &fast); {
		case ok && note, !ok && !note && !strings.ContainsAny(string(rawjson.Quote(nil, file)), `\`):
			t.Fatalf("the quick reader reads it: %v", ok)
		case ok && (fast.Text != text || fast.Turn != turn):
			t.Fatalf("the quick reader has %+v", fast)
		}
	})
}
