package conversation

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
)

// An open conversation keeps no words in memory, only where they are: 32 of them into which
// 16 MiB were said hold less than 2 MiB together.
func TestOpenConversationsAreSmall(t *testing.T) {
	r := newRig(t, t.TempDir(), Options{MaxBytes: 256 << 20})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a finalizer let go of
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var open []agent.Conversation
	for i := range 32 {
		c := r.open(fmt.Sprint(i))
		for j := range 8 {
			must(t, c.Append(agent.Message{Role: agent.RoleUser, Text: strings.Repeat(string(rune('a'+j)), 64<<10)}))
		}
		open = append(open, c)
	}
	grown := heap() - before
	t.Logf("%d KiB for 32 open conversations", grown>>10)
	if grown > 2<<20 {
		t.Errorf("%d bytes for 32 open conversations", grown)
	}
	for _, c := range open {
		if n := len(c.Messages()); n != 8 {
			t.Errorf("%d messages", n)
		}
		must(t, c.Close())
	}
}
