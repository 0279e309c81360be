package sse

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

type seen struct {
	Event
	data string
	cut  bool
}

func readEvents(t *testing.T, r *Reader, hold int) []seen {
	t.Helper()
	var all []seen
	for {
		e, head, rest, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatalf("Next: %v", err)
			}
			return all
		}
		if len(head) > hold {
			t.Fatalf("a head of %d bytes, want at most %d", len(head), hold)
		}
		s := seen{Event: e, data: string(head)}
		if rest != nil {
			more, err := io.ReadAll(rest)
			if s.data != string(head) {
				t.Fatalf("the head became %q while its rest was read, was %q", head, s.data)
			}
			if s.data += string(more); err != nil {
				s.cut = true
			}
		}
		all = append(all, s)
	}
}

func TestEventsAsTheStandardHasThem(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []seen
	}{
		{"plain", "event: message\nid: 7\ndata: {}\n\n", []seen{{Event: Event{ID: "7", Name: "message"}, data: "{}"}}},
		{"byte order mark and CRLF", "\xef\xbb\xbfdata:{}\r\n\r\ndata: 2\r\n\r\n", []seen{{data: "{}"}, {data: "2"}}},
		{"CR alone", "data: 1\rdata: 2\r\rdata: 3\r\r", []seen{{data: "1\n2"}, {data: "3"}}},
		{"lines of data", "data: a\ndata\ndata:  b\n\n", []seen{{data: "a\n\n b"}}},
		{"comments", ": hello\n\n:\ndata: x\n: in between\ndata: y\n\n", []seen{{data: "x\ny"}}},
		{"an id alone", "id: p1\nretry: 250\ndata:\n\nid: p2\n\n", []seen{{Event: Event{ID: "p1", Retry: "250"}}, {Event: Event{ID: "p2"}}}},
		{"unknown fields", "foo: bar\ndatabase: 1\ndata: x\n\n", []seen{{data: "x"}}},
		{"a bad retry, an id with NUL", "retry: soon\nid: a\x00b\ndata: x\n\n", []seen{{data: "x"}}},
		{"no blank line, whole", "data: {\"a\":1}", []seen{{data: `{"a":1}`}}},
		{"no blank line, broken", "id: 3\ndata: {\"a\":", []seen{{Event: Event{ID: "3"}, data: `{"a":`, cut: true}}},
		{"fields alone at the end", "data: 1\n\nid: 9\n", []seen{{data: "1"}}},
		{"nothing", "\n\n\n", nil},
	} {
		for seed := range uint64(3) {
			if got := readEvents(t, NewReader(streams.Pieces([]byte(test.text), seed), 0), DefaultHold); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
			}
		}
	}
}

func TestResumptionGoesByWholeEvents(t *testing.T) {
	r := NewReader(strings.NewReader("id: 1\nretry: 40\ndata: {}\n\nid: 2\ndata: {\"a\""), 0)
	readEvents(t, r, DefaultHold)
	if r.LastID() != "1" || r.Retry() != 40*time.Millisecond {
		t.Errorf("resume behind %q after %v, want behind 1 after 40ms: event 2 broke off", r.LastID(), r.Retry())
	}
}

func TestLargeEventPassesInPieces(t *testing.T) {
	long := strings.Repeat("q", 1<<20)
	r := NewReader(strings.NewReader("id: big\ndata: "+long+"\ndata: tail\n\ndata: 2\n\n"), 1000)
	got := readEvents(t, r, 1000)
	if len(got) != 2 || got[0].data != long+"\ntail" || got[0].ID != "big" || got[1].data != "2" {
		t.Fatalf("%d events, the first of %d bytes", len(got), len(got[0].data))
	}
	r = NewReader(strings.NewReader("data: "+long+"\n\ndata: 2\n\n"), 1000)
	for _, want := range []string{long[:1000], "2"} { // the rest is skipped
		if _, head, _, err := r.Next(); err != nil || string(head) != want {
			t.Fatalf("Next = %d bytes, %v", len(head), err)
		}
	}
	huge := NewReader(io.MultiReader(strings.NewReader("data: "), streams.Repeat("z", 256<<20), strings.NewReader("\n\n")), 0)
	_, _, rest, err := huge.Next()
	if err != nil || rest == nil {
		t.Fatalf("Next = %v, %v", rest, err)
	}
	if n, err := io.Copy(io.Discard, rest); err != nil || n+DefaultHold != 256<<20 {
		t.Errorf("%d bytes of rest, %v", n, err)
	}
	if have := cap(huge.buf) + cap(huge.head); have > restBuffer+DefaultHold+1 {
		t.Errorf("%d bytes of buffers", have)
	}
}

func TestLongFieldIsIgnored(t *testing.T) {
	got := readEvents(t, NewReader(strings.NewReader("id: "+strings.Repeat("i", 1<<20)+"\ndata: 1\n\n"), 0), DefaultHold)
	if len(got) != 1 || got[0].ID != "" || got[0].data != "1" {
		t.Errorf("%d events, id of %d bytes", len(got), len(got[0].ID))
	}
}

// referenceEvents follows the standard's words line by line over the whole text, and gives
// the events that a blank line ends.
func referenceEvents(text string) []seen {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var (
		all    []seen
		e      seen
		data   []string
		fields bool
	)
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil || fields {
				e.data = strings.Join(data, "\n")
				all = append(all, e)
			}
			e, data, fields = seen{}, nil, false
		case len(line) > MaxFieldBytes && name != "data": // as long fields are
		case name == "data":
			data = append(data, value)
		case name == "id" && !strings.Contains(value, "\x00"):
			e.ID, fields = value, true
		case name == "event":
			e.Name, fields = value, true
		case name == "retry":
			if _, err := strconv.ParseUint(value, 10, 31); err == nil {
				e.Retry, fields = value, true
			}
		}
	}
	return all
}

// FuzzEvents holds the reader against the standard's words.
func FuzzEvents(f *testing.F) {
	f.Add("id: 1\ndata: {\"a\":\ndata: 1}\n\n: c\n\ndata: 2\r\n\r\n", uint64(1), uint8(200))
	f.Add("\xef\xbb\xbfdata\rdata: x\r\revent:y\nretry: 3\n\n", uint64(2), uint8(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64, small uint8) {
		hold := 1 + int(small)
		want := referenceEvents(text)
		got := readEvents(t, NewReader(streams.Pieces([]byte(text), seed), hold), hold)
		if len(got) != len(want) && len(got) != len(want)+1 { // one that no blank line ends
			t.Fatalf("%q: %d events %+v, want %d %+v", text, len(got), got, len(want), want)
		}
		for i := range want {
			if got[i].data != want[i].data {
				t.Fatalf("%q: event %d has %q, want %q", text, i, got[i].data, want[i].data)
			}
			if len(got[i].data) <= hold && got[i].Event != want[i].Event {
				t.Fatalf("%q: event %d is %+v, want %+v", text, i, got[i], want[i])
			}
		}
	})
}
