package main

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
)

// The line says what a run that goes on waits for.
func TestStatusLineTellsOfWaits(t *testing.T) {
	s := watch.Glance{State: watch.Running, Inside: true, MemoryBytes: 1 << 20, Reason: "waits for the provider: 12 s"}
	plain := func(_ int64, text string) string { return text }
	if line := lineOf(s, plain, time.Now()); !strings.HasSuffix(line, " · waits for the provider: 12 s") {
		t.Error(line)
	}
}
