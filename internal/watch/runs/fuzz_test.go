package runs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// FuzzFile reads whatever may stand in the file of a run, in pieces of any size.
func FuzzFile(f *testing.F) {
	var whole bytes.Buffer
	e := encoder{}
	whole.Write(e.encodeLine("header", Header{Schema: 1, ID: "a", Kind: KindRun, Report: journal.Report{Tool: "x"}}))
	whole.Write(e.encodeRecord(journal.Record{Seq: 1, Time: time.Unix(1, 0), Event: journal.WindowRequest{Tokens: 5, LimitTokens: 9}}))
	whole.Write(e.encodeRecord(journal.Record{Seq: 2, Event: journal.ToolCalled{Server: "s", Tool: "t", UpstreamBytes: 7}}))
	whole.Write(e.encodeLine("sample", Sample{AtMS: 5, Working: 6}))
	whole.Write(e.encodeLine("shares", Shares{AtMS: 6, Working: 7, Bytes: map[string]int64{"node": 5}, Other: 2}))
	whole.Write(e.encodeLine("end", End{Time: time.Unix(2, 0), Report: journal.Report{Outcome: "ok"}}))
	f.Add(whole.Bytes(), 7)
	f.Add([]byte(`{"header":{"schema":99,"report":{"killed_children":null}}}`+"\n"+`{"sample":{"at_ms":9223372036854775807}}`+"\n"), 1)
	f.Add([]byte(`{"header":`+strings.Repeat(`{"report":`, 50)+"\n"), 100)
	f.Add([]byte("\x00\xff\n\n{}\n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		piece = max(1, min(piece, 1<<16))
		a, b := &tail{run: newRun()}, &tail{run: newRun()}
		a.split(text, a.addLine)
		for rest := text; len(rest) > 0; {
			n := min(piece, len(rest))
			b.split(rest[:n], b.addLine)
			rest = rest[n:]
		}
		a.run.recompute()
		b.run.recompute()
		a.run.ByProcess, b.run.ByProcess = a.run.shares.columns(), b.run.shares.columns()
		a.run.DurationMS, b.run.DurationMS = 0, 0 // of one that lives: until now
		one, err := json.Marshal(a.run)
		if err != nil {
			return // a year beyond 9999
		}
		if two, _ := json.Marshal(b.run); !bytes.Equal(one, two) {
			t.Fatalf("in pieces of %d:\n%s\n%s", piece, one, two)
		}
	})
}

// FuzzSample holds the short way of reading a sample against encoding/json.
func FuzzSample(f *testing.F) {
	whole := encoder{}.encodeLine("sample", Sample{AtMS: 1, Working: 2, Charged: 3, CPUMS: 4, Processes: 5, WindowTokens: 6, WindowLimit: 7, DiskBytes: 8, Compactions: 9, Kills: 10, TurnMS: 11, IdleMS: 12})
	whole = bytes.TrimSpace(whole)
	if _, ok := parseSample(whole); !ok {
		f.Fatalf("what a writer writes is read the long way: %s", whole)
	}
	for n := range len(whole) + 1 {
		f.Add(whole[:n])
	}
	for _, text := range []string{
		`{"sample":{"at_ms":1,"at_ms":2}}`, `{"sample":{"at_ms":01}}`, `{"sample":{"at_ms":-1}}`, `{"sample":{"at_ms":1e3}}`, `{"sample":{"at_ms":999999999999999999}}`,
		`{"sample":{"at_ms":9223372036854775808}}`, `{"sample":{"AT_MS":1}}`, `{"sample":{"at_ms":1,}}`, `{"sample":{"at_ms":1}} `, `{"sample":{}}`, `{"sample":{"new":1}}`,
		`{"sample":{"at_ms":1},"end":{}}`, `{"sample":{"processes":99999999999999999}}`, `{"sample":{"at_ms" :1}}`, `{"sample":{"at_ms":1}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parseSample(text)
		if !ok {
			return
		}
		var want struct{ Sample Sample }
		if err := json.Unmarshal(text, &want); err != nil || got != want.Sample {
			t.Fatalf("%q is read as %+v, want %+v, %v", text, got, want.Sample, err)
		}
	})
}

// FuzzIndex reads whatever may stand in the index.
func FuzzIndex(f *testing.F) {
	line, _ := json.Marshal(indexLine{Entry{ID: "a", Day: "2026-11-24", Outcome: "ok"}, sums{1, 2}})
	f.Add(append(line, '\n'))
	f.Add([]byte("torn"))
	f.Add([]byte(`{"id":"a","day":"2026-11-24","sum_runs":-1,"sum_bytes":99999999999999999999}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _, damaged, err := readIndex(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(text, []byte("\n"))
		if len(list)+damaged > lines {
			t.Fatalf("%d runs and %d damaged of %d lines", len(list), damaged, lines)
		}
		for i := range list {
			if !validID(list[i].ID) || !validDay(list[i].Day) {
				t.Fatalf("%+v", list[i])
			}
		}
	})
}
