package footprint

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
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
	restore := Shrink()
	if got := runtime.GOMAXPROCS(0); got != 1 {
		t.Errorf("%d processors", got)
	}
	restore()
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
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kB); err == nil {
			return kB
		}
	}
	t.Skip("the kernel does not tell RssFile")
	return 0
}
