package agent

import (
	"fmt"
	"runtime"
	"testing"
)

// What the queries of an agent share is bounded, however many there were and whatever was cut
// from them: 1 MiB of counts, 256 KiB of reports, 4 MiB of how room was made, and a vocabulary.
func TestFitMemoryIsBounded(t *testing.T) {
	const budget = 12 << 20
	core := newCore(fitModel(16_000), Limits{}, Room{})
	large := fitWords(150_000, 1) // 300 KB
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools hold goes with the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	for q := range 20 {
		f := core.query(nil)
		id := fmt.Sprint("c", q)
		// A large result under way is cut at last, an old one early: both leave something behind.
		ms := []Message{userSays(id), modelCalls(id), toolSays(id, id+large), modelCalls("n" + id), toolSays("n"+id, "small")}
		if q%2 == 0 {
			ms = ms[:3]
		}
		_, did := mustFit(t, f, "", ms)
		f.report(Usage{Input: did.Tokens})
	}
	if held := live() - before; held > budget {
		t.Errorf("after 20 queries with results of %d bytes %d are held, more than %d", len(large), held, budget)
	}
	runtime.KeepAlive(core)
}
