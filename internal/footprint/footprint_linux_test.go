package footprint

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// Release takes the program's own pages out of the process, and what was unmapped still runs.
func TestReleaseProgram(t *testing.T) {
	before := resident(t)
	releaseProgram()
	after := resident(t)
	t.Logf("file pages: %d kB before, %d kB after", before, after)
	if after >= before {
		t.Errorf("%d kB of files are resident, %d kB were before", after, before)
	}
}

// The settings are as they were afterwards.
func TestShrinkRestores(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	small := Shrink()
	if got := runtime.GOMAXPROCS(0); got != 1 {
		t.Errorf("%d processors", got)
	}
	small.Restore()
	small.Again() // too late, and changes nothing
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d processors, %d before", got, before)
	}
}

// One processor is left, until all are wanted again; a second call changes nothing.
func TestOneRestores(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(before)
	restore := One()
	if got := runtime.GOMAXPROCS(0); got != 1 {
		t.Errorf("%d processors", got)
	}
	restore()
	if got := runtime.GOMAXPROCS(2); got != 3 {
		t.Errorf("%d processors, 3 before", got)
	}
	restore()
	if got := runtime.GOMAXPROCS(0); got != 2 {
		t.Errorf("restored twice: %d processors", got)
	}
}

// resident is RssFile of this process, in kB.
func resident(t *testing.T) (kB int) {
	status := testfile.Read(t, "/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kB); err == nil {
			return kB
		}
	}
	t.Skip("the kernel does not tell RssFile")
	return 0
}

// A process that rests is not collected for its age or for little garbage; for much at once the collector comes by itself, and stays.
func TestSmallRests(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			t.Skip(name + " is set")
		}
	}
	small := Shrink()
	defer small.Restore()
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	before := collections()
	small.Again()
	if got := collections(); got != before || percent() != -1 {
		t.Errorf("a minute without garbage: %d collections, GOGC %d", got-before, percent())
	}
	for range 16 * worthwhile >> 20 {
		heap = make([]byte, 1<<20) // each on pages of its own
		for i := 0; i < len(heap); i += 4 << 10 {
			heap[i] = 1
		}
	}
	if got := collections(); got != before {
		t.Errorf("a little garbage: %d collections", got-before)
	}
	small.Again()
	if got := collections(); got == before || percent() != -1 {
		t.Errorf("a minute with garbage: %d collections, GOGC %d", got-before, percent())
	}
	wait.Until(t, "a burst of garbage wakes the collector", func() bool {
		for range burst >> 10 {
			heap = make([]byte, 1<<10)
		}
		return percent() != -1
	})
	if got := percent(); got != garbage {
		t.Errorf("after a burst GOGC is %d", got)
	}
	small.Again()
	if got := percent(); got != -1 {
		t.Errorf("a minute after the burst GOGC is %d", got)
	}
}

// heap keeps the compiler from putting garbage on the stack.
var heap []byte
