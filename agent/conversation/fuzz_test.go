package conversation

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/store"
)

// FuzzRead holds that reading any bytes ends, keeps to its bound, tells every line that it
// passes over, and that what it found can be read again where it says.
func FuzzRead(f *testing.F) {
	file, err := appendRecord(nil, headerRecord{Format: format, Version: 1, Session: "s", Title: "t"})
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range talk {
		file, _ = appendMessage(file, m, time.Unix(1, 0).UTC(), 1<<20)
	}
	f.Add(file, int64(1<<20), false)
	f.Add(file, int64(300), false)
	f.Add(file[:len(file)-3], int64(1<<20), false)
	f.Add(append(bytes.Clone(file), make([]byte, 100)...), int64(1<<20), false)
	f.Add([]byte("00000002 00000000 {}\n"), int64(100), false)
	f.Add([]byte("ffffffff ffffffff \n\n\n"), int64(10), false)
	f.Add([]byte(strings.Repeat("[", 5000)+"\n"), int64(1000), false)
	f.Add([]byte{}, int64(0), false)
	var bare []byte
	for line := range bytes.Lines(file) {
		bare = append(bare, line[store.Frame:]...)
	}
	f.Add(bare, int64(1<<20), true)
	f.Add([]byte(strings.Repeat("[", 12000)+"\n{\"message\":{\"role\":\"user\",\"calls\":[{},{}]}}\nnull\n1e99999"), int64(1<<20), true)
	f.Fuzz(func(t *testing.T, data []byte, most int64, framed bool) {
		if framed { // a checksum is not guessed: here every line has a right one
			var sound []byte
			for line := range bytes.Lines(data) {
				sound = store.AppendLine(sound, bytes.TrimSuffix(line, []byte("\n")))
			}
			data = sound
		}
		most = max(most, 0) % (1 << 20)
		got, err := readFile(bytes.NewReader(data), most)
		if err != nil {
			t.Fatal(err)
		}
		if got.good+got.torn != int64(len(data)) || len(got.entries) != len(got.messages) || got.headErr == nil && got.head.Session == "" {
			t.Fatalf("%d + %d of %d bytes, %d entries, %d messages", got.good, got.torn, len(data), len(got.entries), len(got.messages))
		}
		lines, heads := bytes.Count(data, []byte("\n")), 0
		if got.headErr == nil {
			heads = 1
		}
		if lines != heads+len(got.entries)+got.cut+got.passed || (got.damage == nil) != (got.passed == 0 && (got.headErr == nil || lines == 0)) {
			t.Fatalf("%d lines: %d heads, %d messages, %d cut, %d passed over, damage %v", lines, heads, len(got.entries), got.cut, got.passed, got.damage)
		}
		var total int64
		for i, e := range got.entries {
			line := data[e.off : e.off+int64(e.size)]
			m, err := parseMessage(line[:len(line)-1])
			if err != nil || m.Role != got.messages[i].Role || m.Text != got.messages[i].Text || e.role != m.Role {
				t.Fatalf("entry %d at %d: %v, %v", i, e.off, m, err)
			}
			total += int64(e.size)
		}
		// A question and the last message stay even if they are more than the bound; the store's
		// writer sees to it that they are not.
		if total > most && len(got.entries) > 2 {
			t.Fatalf("%d bytes in %d entries, bound %d", total, len(got.entries), most)
		}
	})
}

// FuzzMessage holds that what is written is read back, or is as small as demanded.
func FuzzMessage(f *testing.F) {
	f.Add("user", "text", "id", "name", `{"a":1}`, `{"sig":"x"}`, 1000)
	f.Add("tool", strings.Repeat("☃", 900), "", "", "{", "", 400)
	f.Add("assistant", "a\nb\x00\xff\u2028", "\xff", "n\"", "\xfe", "[", 300)
	f.Fuzz(func(t *testing.T, role, text, id, name, arguments, opaque string, most int) {
		most = 256 + max(most, 0)%(1<<16)
		m := agent.Message{Role: agent.Role(role), Text: text, CallID: id, Name: name, Opaque: []byte(opaque)}
		if arguments != "" {
			m.Calls = []agent.Call{{ID: id, Name: name, Arguments: arguments}}
		}
		data, cut := appendMessage(nil, m, time.Unix(1, 0).UTC(), most)
		if len(data) > most || bytes.Count(data, []byte("\n")) != 1 || !bytes.HasSuffix(data, []byte("\n")) {
			t.Fatalf("%d bytes of at most %d: %q", len(data), most, data)
		}
		got, err := parseMessage(data[:len(data)-1])
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		valid := func(s string) string { return string([]rune(s)) }
		if !cut && (got.Text != valid(text) || string(got.Role) != valid(role) || got.CallID != valid(id) || len(got.Calls) != len(m.Calls) || len(m.Calls) > 0 && got.Calls[0].Arguments != valid(arguments)) {
			t.Fatalf("%+v reads as %+v", m, got)
		}
	})
}
