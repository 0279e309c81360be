package proctree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

// table is a recorded process table: a directory that looks like /proc.
type table struct {
	t   *testing.T
	dir string
	n   int
}

func newTable(t *testing.T) *table {
	table := &table{t: t, dir: t.TempDir()}
	table.add(proc{pid: 1, start: 1, name: "init"})
	table.add(proc{pid: 50, ppid: 1, start: 50, name: "login shell"})
	table.add(proc{pid: 60, ppid: 50, start: 60, name: "plimsoll"}) // ourselves
	return table
}

type proc struct {
	pid, ppid, pgid, sid, start int
	name, state, environ, statm string
	ending                      bool
}

// add puts a process, in place of one that had its number before.
func (x *table) add(p proc) {
	x.t.Helper()
	x.remove(p.pid)
	if p.state == "" {
		p.state = "S"
	}
	if p.statm == "" {
		p.statm = "5000 1000 200 10 0 300 0\n"
	}
	flags := 0x400000 // PF_RANDOMIZE
	if p.ending {
		flags |= 0x4 // PF_EXITING
	}
	stat := fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 %d 1 2 3 4 5 6 7 8 20 0 1 0 %d 1000 200 18446744073709551615\n",
		p.pid, p.name, p.state, p.ppid, p.pgid, p.sid, flags, p.start)
	dir := filepath.Join(x.dir, strconv.Itoa(p.pid))
	if err := os.Mkdir(dir, 0o700); err != nil {
		x.t.Fatal(err)
	}
	for name, text := range map[string]string{"stat": stat, "statm": p.statm, "environ": p.environ, "status": "Name:\tx\nVmHWM:\t    5000 kB\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			x.t.Fatal(err)
		}
	}
}

// remove takes a process out. Its directory lives on elsewhere, so that its inode is not
// given out again, as the kernel does not.
func (x *table) remove(pid int) {
	x.n++
	grave := filepath.Join(x.dir, fmt.Sprintf("gone-%d", x.n))
	if err := os.Rename(filepath.Join(x.dir, strconv.Itoa(pid)), grave); err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
}

func (x *table) tree(o Options) *Tree {
	x.t.Helper()
	o.testing = testOptions{procRoot: x.dir, self: 60}
	tree, err := New(o)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { tree.Close() })
	return tree
}

// expect scans and compares the PIDs of the tree.
func (x *table) expect(tree *Tree, want ...int) Changes {
	x.t.Helper()
	changes := scan(x.t, tree)
	var got []int
	for _, p := range tree.Members() {
		got = append(got, p.PID)
		if !tree.Contains(p.PID) {
			x.t.Errorf("the tree does not contain its member %d", p.PID)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		x.t.Errorf("members %v, want %v", got, want)
	}
	return changes
}

const cookie = "PLIMSOLL_RUN_ID=abc"

func TestMembershipByAncestry(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 100, ppid: 60, start: 100, name: "agent"})
	x.add(proc{pid: 90, ppid: 120, start: 130, name: "number below its parent's"})
	x.add(proc{pid: 120, ppid: 100, start: 120, name: "child"})
	x.add(proc{pid: 200, ppid: 50, start: 200, name: "the user's editor"})
	x.add(proc{pid: 201, ppid: 200, start: 201, name: "its child"})
	tree := x.tree(Options{Root: 100, Cookie: cookie})
	x.expect(tree, 90, 100, 120)
	x.remove(120)
	x.add(proc{pid: 90, ppid: 1, start: 130, name: "now an orphan"})
	changes := x.expect(tree, 90, 100)
	if len(changes.Gone) != 1 || changes.Gone[0].PID != 120 {
		t.Errorf("gone %v, want 120", changes.Gone)
	}
	x.add(proc{pid: 90, ppid: 1, start: 900, name: "another process with that number"})
	x.expect(tree, 100)
	x.add(proc{pid: 201, ppid: 100, start: 300, name: "an outsider's number, ours now"})
	x.expect(tree, 100, 201)
}

func TestMembershipOfOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		orphan  proc
		options Options
		belongs bool
	}{
		"cookie":                       {proc{ppid: 1, environ: "A=1\x00" + cookie + "\x00B=2\x00"}, Options{Cookie: cookie}, true},
		"cookie last, unterminated":    {proc{ppid: 50, environ: "A=1\x00" + cookie}, Options{Cookie: cookie}, true},
		"cookie of another run":        {proc{ppid: 1, environ: cookie + "d\x00"}, Options{Cookie: cookie}, false},
		"cookie inside an entry":       {proc{ppid: 1, environ: "X" + cookie + "\x00"}, Options{Cookie: cookie}, false},
		"cookie, but older":            {proc{ppid: 1, start: 99, environ: cookie + "\x00"}, Options{Cookie: cookie}, false},
		"cookie, but a known parent":   {proc{ppid: 70, environ: cookie + "\x00"}, Options{Cookie: cookie}, false},
		"no cookie asked for":          {proc{ppid: 1, environ: cookie + "\x00"}, Options{}, false},
		"session of a member":          {proc{ppid: 1, sid: 100}, Options{}, true},
		"group of a member that ended": {proc{ppid: 1, pgid: 110}, Options{}, true},
		"session of the login":         {proc{ppid: 1, sid: 50, pgid: 50}, Options{}, false},
		"our child, as subreaper":      {proc{ppid: 60}, Options{Subreaper: true}, true},
		"our child, not as subreaper":  {proc{ppid: 60}, Options{}, false},
		"our older child":              {proc{ppid: 60, start: 99}, Options{Subreaper: true}, false},
		"init's child, as subreaper":   {proc{ppid: 1}, Options{Subreaper: true}, false},
		"excluded":                     {proc{ppid: 60}, Options{Subreaper: true, Exclude: func(p Process) bool { return p.PID == 300 }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.add(proc{pid: 70, ppid: 1, start: 70, name: "a service"})
			x.add(proc{pid: 100, ppid: 60, start: 100, name: "agent"})
			x.add(proc{pid: 110, ppid: 100, start: 110, name: "short"})
			c.options.Root = 100
			tree := x.tree(c.options)
			x.expect(tree, 100, 110)
			x.remove(110)
			x.expect(tree, 100)
			c.orphan.pid, c.orphan.name = 300, "orphan"
			if c.orphan.start == 0 {
				c.orphan.start = 300
			}
			x.add(c.orphan)
			x.add(proc{pid: 250, ppid: 300, start: 301, name: "its child"})
			if c.belongs {
				x.expect(tree, 100, 250, 300)
			} else {
				x.expect(tree, 100)
			}
		})
	}
}

func TestAnEnvironmentThatIsEmptyForAMomentIsReadAgain(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 100, ppid: 60, start: 100})
	x.add(proc{pid: 300, ppid: 1, start: 300})
	tree := x.tree(Options{Root: 100, Cookie: cookie})
	x.expect(tree, 100)
	if err := os.WriteFile(filepath.Join(x.dir, "300", "environ"), []byte(cookie), 0o600); err != nil {
		t.Fatal(err)
	}
	x.expect(tree, 100, 300)
}

func TestAnEndedRootLeavesItsDescendantsToTheCookie(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 300, ppid: 1, start: 300, environ: cookie + "\x00"})
	tree := x.tree(Options{Root: 100, Cookie: cookie})
	x.expect(tree, 300)
}

func TestWithoutARootTheCookieIsLookedForEverywhere(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 60, ppid: 50, start: 60, environ: cookie + "\x00"}) // ourselves, never a member
	x.add(proc{pid: 70, ppid: 50, start: 70})
	x.add(proc{pid: 300, ppid: 70, start: 300, environ: cookie + "\x00"})
	x.expect(x.tree(Options{Cookie: cookie}), 300)
}

func TestTheTreeIsBounded(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 100, ppid: 60, start: 100})
	for pid := 101; pid < 110; pid++ {
		x.add(proc{pid: pid, ppid: 100, start: pid})
	}
	tree := x.tree(Options{Root: 100, MaxMembers: 4})
	scan(t, tree)
	if n, c := len(tree.Members()), tree.Counters(); n != 4 || c.OverMembers != 6 {
		t.Errorf("%d members and %+v, want 4 and 6 counted as over the bound", n, c)
	}
}

func TestDamagedFilesDoNotStopAScan(t *testing.T) {
	x := newTable(t)
	x.add(proc{pid: 100, ppid: 60, start: 100})
	x.add(proc{pid: 101, ppid: 100, start: 101, statm: "1 99999999999999999999999 3"})
	x.add(proc{pid: 102, ppid: 102, start: 102, name: "its own parent"})
	x.add(proc{pid: 103, ppid: 104, start: 103, name: "a circle"})
	x.add(proc{pid: 104, ppid: 103, start: 104, name: "a circle"})
	x.add(proc{pid: 105, ppid: 100, start: 105, statm: "17179869184 17179869184 0 0 0 0 0"})
	if err := os.WriteFile(filepath.Join(x.dir, "100", "status"), []byte("VmHWM:\t-1 kB"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"99999999999999999999", "2147483648", "12x", "-5"} {
		if err := os.Mkdir(filepath.Join(x.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tree := x.tree(Options{Root: 100})
	x.expect(tree, 100, 101, 105)
	page := limit.Bytes(os.Getpagesize())
	if u := tree.Measure(); u.Unreadable != 1 || u.Processes != 2 || u.Anon != page*(800+17179869184) {
		t.Errorf("measured %+v, want one process unreadable and the sum of the others", u)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, o := range map[string]Options{
		"no root and no cookie": {},
		"a negative root":       {Root: -1, Cookie: cookie},
		"no process table":      {Root: 1, testing: testOptions{procRoot: filepath.Join(t.TempDir(), "none")}},
		"an empty table":        {Root: 1, testing: testOptions{procRoot: t.TempDir()}},
	} {
		if tree, err := New(o); err == nil {
			tree.Close()
			t.Errorf("%s was accepted", name)
		}
	}
	x := newTable(t)
	tree := x.tree(Options{Root: 50})
	tree.Close()
	if _, err := tree.Scan(); err == nil {
		t.Error("a closed tree was scanned")
	}
	if u := tree.Measure(); u != (Usage{}) {
		t.Errorf("a closed tree measures %+v", u)
	}
}
