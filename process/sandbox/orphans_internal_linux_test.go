package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
)

// orphanOf finds one group in the list of all.
func orphanOf(t *testing.T, id string, known ...string) (Orphan, bool) {
	t.Helper()
	list, err := Orphans(func(id string) bool { return strings.Contains(strings.Join(known, " "), id) })
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if o.Remains.ID == id {
			return o, true
		}
	}
	return Orphan{}, false
}

func TestAGroupIsLostWhenItIsOldAndNobodySupervisesIt(t *testing.T) {
	own, err := cgroupfs.Own()
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	id := fmt.Sprintf("orphan-%d", os.Getpid())
	for _, parent := range []string{own.V1["memory"], own.V1["pids"]} {
		if parent == "" || unix.Access(parent, unix.W_OK) != nil {
			t.Skip("no cgroup v1 that is ours to write to")
		}
		groups = append(groups, filepath.Join(parent, runPrefix+id))
	}
	for _, dir := range groups {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = removeTree(dir) })
	}
	if o, found := orphanOf(t, id); !found || o.Keep != "" || o.Processes != 0 || len(o.Remains.Groups) != 2 || o.Remains.Layer != Cgroup1 {
		t.Fatalf("an empty group: %t, %+v", found, o)
	}
	if _, found := orphanOf(t, id, id); found {
		t.Error("a group whose claim is known is no orphan")
	}

	supervised := exec.Command("sh", append([]string{"-c", `for g; do echo $$ > $g/cgroup.procs; done; echo in; read end`, "sh"}, groups...)...)
	in, err := supervised.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := supervised.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := supervised.Start(); err != nil {
		t.Fatal(err)
	}
	var word string
	if _, err := fmt.Fscan(out, &word); err != nil {
		t.Fatal(err)
	}
	orphanAge = 0
	defer func() { orphanAge = time.Hour }()
	if o, found := orphanOf(t, id); !found || !strings.Contains(o.Keep, "may be its supervisor") || o.Processes != 1 {
		t.Errorf("with a living parent: %t, %+v", found, o)
	}
	_ = in.Close()
	_ = supervised.Wait()

	// A process whose parent is dead: the shell enters the groups, starts it and ends.
	left := exec.Command("sh", append([]string{"-c", `for g; do echo $$ > $g/cgroup.procs; done; sleep 60 & exit`, "sh"}, groups...)...)
	if err := left.Run(); err != nil {
		t.Fatal(err)
	}
	o, found := orphanOf(t, id)
	if strings.Contains(o.Keep, "may be its supervisor") {
		_ = Remove(o.Remains, time.Second)
		t.Skip("orphans are adopted by a process that may be a supervisor: ", o.Keep)
	}
	if !found || o.Keep != "" || o.Processes != 1 {
		t.Errorf("with a dead parent: %t, %+v", found, o)
	}
	orphanAge = time.Hour
	if o, _ := orphanOf(t, id); !strings.Contains(o.Keep, "counts as lost after 1h") {
		t.Errorf("a young one: %+v", o)
	}
	orphanAge = 0
	if err := os.Mkdir(filepath.Join(groups[0], leftMark), 0o755); err != nil {
		t.Fatal(err)
	}
	if o, _ := orphanOf(t, id); !strings.Contains(o.Keep, "on purpose") {
		t.Errorf("one that was left on purpose: %+v", o)
	}
	if err := Remove(o.Remains, time.Second); err != nil {
		t.Error(err)
	}
	for _, dir := range groups {
		if exists(dir) {
			t.Errorf("%s is left", dir)
		}
	}
}

// TestAnEmptyGroupIsFoundWhereverItIs: a run makes a group in each of these hierarchies, and one may be left alone when the others were removed.
func TestAnEmptyGroupIsFoundWhereverItIs(t *testing.T) {
	own, err := cgroupfs.Own()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range []string{"memory", "pids", "cpu", "freezer"} {
		parent := own.V1[name]
		if parent == "" || unix.Access(parent, unix.W_OK) != nil {
			continue
		}
		tried++
		id := fmt.Sprintf("alone-%s-%d", name, os.Getpid())
		dir := filepath.Join(parent, runPrefix+id)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = removeTree(dir) })
		o, found := orphanOf(t, id)
		if !found || o.Keep != "" {
			t.Errorf("%s: %t, %+v", name, found, o)
			continue
		}
		if err := Remove(o.Remains, time.Second); err != nil || exists(dir) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	if tried == 0 {
		t.Skip("no cgroup v1 that is ours to write to")
	}
}
