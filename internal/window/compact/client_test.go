package compact_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Requests as the real clients sent them, after a few tool calls: whatever they put before
// and around the user's words, those are found and stay, and so do instructions and tools
// that stand among the messages.
func TestRealClients(t *testing.T) {
	files, err := filepath.Glob("../../../window/wire/testdata/recorded/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d recorded requests, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		d := wire.Chat
		switch {
		case strings.HasPrefix(name, "claude"), strings.Contains(name, "messages"):
			d = wire.Messages
		case strings.HasPrefix(name, "codex"), strings.Contains(name, "responses"):
			d = wire.Responses
		case strings.Contains(name, "gemini"):
			d = wire.Gemini
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := parse(t, d, b)
		units := r.Units()
		if len(units) < 4 {
			continue // the first request of a task
		}
		// Many more turns: the client's own units again and again, with ids of their own.
		model := 0
		for !containsRole(r, units[model], wire.RoleAssistant) {
			model++
		}
		var more [][]byte
		for n := range 40 {
			for _, u := range units[model:] {
				for i := u.From; i < u.To; i++ {
					more = append(more, renamed(r, i, n))
				}
			}
		}
		draft := r.Draft()
		draft.InsertMessages(units[model].From, more...)
		long, err := draft.Build()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, percent := range []int{70, 50, 30} {
			head := quarter(long).Head
			for _, size := range quarter(long).Messages[:units[model].From] {
				head += size
			}
			target := head + (quarter(long).Total-head)*percent/100
			res, err := compact.New(compact.Options{}).Compact(t.Context(), view(t, long), quarter, compact.Goal{Target: target, Limit: target * 2, Trigger: target * 2})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := wire.ValidateEdit(d, long.Body, res.Request.Alternating()); err != nil {
				t.Errorf("%s to %d %%: %v", name, percent, err)
			}
			settled(t, long, res.Request)
			if res.After > target {
				t.Errorf("%s to %d %%: %d of %d tokens (%v)", name, percent, res.After, target, res.Rungs)
			}
			for i := range units[model].From {
				if !bytes.Contains(res.Request.Body, long.Raw(long.Messages[i].Span)) {
					t.Errorf("%s to %d %% (%v): message %d (%s), before the model's first, is not there any more", name, percent, res.Rungs, i, long.Messages[i].Role)
				}
			}
			if !bytes.Contains(res.Request.Body, []byte("Read README.md and say what it is.")) {
				t.Errorf("%s: the task is gone", name)
			}
		}
	}
}

func containsRole(r *wire.Request, u wire.Unit, role wire.Role) bool {
	for i := u.From; i < u.To; i++ {
		if r.Messages[i].Role == role {
			return true
		}
	}
	return false
}

// renamed is a message with ids of the n-th copy.
func renamed(r *wire.Request, i, n int) []byte {
	raw := bytes.Clone(r.Raw(r.Messages[i].Span))
	suffix := []byte{byte('a' + n%26), byte('A' + n/26)}
	for _, p := range r.Messages[i].Parts {
		if id := p.CallID; len(id) > 4 {
			raw = bytes.ReplaceAll(raw, []byte(id), append([]byte(id[:len(id)-2]), suffix...))
		}
	}
	return raw
}
