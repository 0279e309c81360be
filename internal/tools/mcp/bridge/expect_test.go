package bridge

import (
	"strings"
	"testing"
)

func has(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in %.600s", w, got)
		}
	}
}

func lacks(t *testing.T, got string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(got, w) {
			t.Errorf("%q should not be in %.600s", w, got)
		}
	}
}

func accept(string, string) string {
	return `{"action":"accept","content":{"name":"Zoë","n":9007199254740993}}`
}

// eventually waits for what another goroutine does.
