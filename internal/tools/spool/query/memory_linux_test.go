package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
)

// None of the children of any test held more than a query may, beside the program itself.
// The name keeps it behind the others.
func TestZChildrenStayedInside(t *testing.T) {
	_, _ = run(t, `1`, query.Request{Query: `"x" * 2e8 | length`})
	_, err := run(t, `1`, query.Request{Query: `"x" * 1e9`})
	fails(t, err, query.Memory)
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		t.Fatal(err)
	}
	// The program's text counts into this figure: 40 MiB is more than any of ours has.
	if most := int64(query.DefaultMemory) + 40<<20; used.Maxrss<<10 > most {
		t.Errorf("a child had %d bytes in memory, at most %d were allowed", used.Maxrss<<10, most)
	}
	children, err := os.ReadFile(filepath.Join("/proc/self/task", filepath.Base(must(os.Readlink("/proc/thread-self"))), "children"))
	if err == nil && strings.TrimSpace(string(children)) != "" {
		t.Errorf("children %s are still there", children)
	}
}

func must(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}

// The child can open no file, so a query that found a way to ask for one would fail.
func TestNoFileIsWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, q := range []string{`debug`, `stderr`, `input_line_number`, `"x" | ltrimstr("x")`, `import "x" as $x; $x`, `include "x"; .`, `get_search_list`, `@sh`} {
		_, _ = run(t, `"text"`, query.Request{Query: q})
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
