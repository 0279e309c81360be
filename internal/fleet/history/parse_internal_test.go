package history

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/store"
)

// What is read from an outbox can be written and read again, whatever was in it.
func FuzzOutbox(f *testing.F) {
	whole := store.AppendLine(store.AppendLine(nil, []byte(`{"dropped":3}`)), []byte(`{"a":1}`))
	f.Add(whole)
	f.Add(append(whole, whole[:20]...))
	f.Add([]byte("\n\n{}\n{\"dropped\":-1}\nx\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := newOutbox(t.TempDir())
		lines, was := parseLines(text)
		err := b.whileLocked(func() error { return b.replaceLines(lines, was) })
		if err != nil {
			t.Fatal(err)
		}
		again, head, err := b.readLines()
		if err != nil || len(again) != len(lines) || len(lines) > 0 && head != was {
			t.Fatalf("%d lines became %d, %d became %d, %v", len(lines), len(again), was, head, err)
		}
		for i := range again {
			if !bytes.Equal(again[i], lines[i]) {
				t.Fatalf("%q became %q", lines[i], again[i])
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"project":"p","tool":"t","run":{"time":"2026-01-01T00:00:00Z","ms":1,"peak":1,"id":"x"}}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		runs, leftOut := decode([]fleet.Entry{{Value: value}, {Value: value}}, "p", "t", "", time.Now())
		if len(runs) > 1 || len(runs) == 1 && leftOut != 0 || len(runs) == 0 && leftOut != 2 {
			t.Fatalf("%d runs, %d left out", len(runs), leftOut)
		}
		for _, r := range runs {
			if r.Peak < 0 || r.Cost < 0 || r.Variant != "" || r.Time.After(time.Now().Add(future)) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// A line in the outbox that no observation can be is given up, and holds up nobody.
func TestUnreadableLines(t *testing.T) {
	b := newOutbox(t.TempDir())
	if err := b.whileLocked(func() error { return b.appendLine([]byte(`{"not":"an observation"}`)) }); err != nil {
		t.Fatal(err)
	}
	h := &History{bucket: (*fleet.Fleet)(nil).Bucket(fleet.History), outbox: b}
	if left, err := h.Deliver(context.Background()); err != nil || left != 0 {
		t.Error(left, err)
	}
	if n, _, _, err := h.Waiting(); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := usage.ParseObservation([]byte(`{"not":"an observation"}`)); err == nil {
		t.Error("it is one")
	}
}
