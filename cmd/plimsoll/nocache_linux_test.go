package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A cache that cannot be written (a full disk, a file system that is only read, a file in its place) costs the pages of large results, and
// nothing else: the gateway gives their beginnings, and the daemon serves models.
func TestACacheThatCannotBeWrittenStopsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	inTheWay := filepath.Join(t.TempDir(), "cache")
	testfile.Write(t, inTheWay, "")
	s.env = append(s.env, "PLIMSOLL_CACHE_DIR="+inTheWay)
	s.configure("[serve]\nlisten = \"127.0.0.1:0\"\n")
	o := s.patience([]string{"mcp", "--", "toolserver"})
	if o.code != 0 || strings.Count(o.stderr, "only their beginnings given") != 1 || !strings.Contains(o.stderr, "PLIMSOLL_CACHE_DIR") {
		t.Errorf("mcp: %d, %s", o.code, o.stderr)
	}
	if !strings.Contains(o.stdout, "could not be kept") || !strings.Contains(o.stdout, "Only its beginning follows") || len(o.stdout) > 64<<10 {
		t.Errorf("a result of 300 KB came as %d bytes: %.1500s", len(o.stdout), o.stdout)
	}
	if o := s.daemon("look"); o.code != 0 || strings.Count(o.stderr, "only their beginnings given") > 1 {
		t.Errorf("serve: %d, %s", o.code, o.stderr)
	}
}
