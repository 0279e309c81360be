package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// diskDir is a directory on a disk that may be written to: systems keep /tmp in memory.
func diskDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "plimsoll-e2e-")
	if err != nil {
		t.Skipf("nothing to write to: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Type == unix.TMPFS_MAGIC || st.Type == unix.V9FS_MAGIC {
		t.Skipf("%s is on no disk (%v)", dir, err)
	}
	return dir
}

func freeOn(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize
}

// diskReport is what the report of a run has about its writing.
type diskReport struct {
	Outcome      string
	LimitReached string `json:"limit_reached"`
	Limits       []struct {
		Name, Reached, Did string
		Hard, Used         int64
	}
}

// writing runs a shell script in dir, and returns what it printed and the report.
func (w *world) writing(m mode, dir, script string, flags ...string) (result, diskReport) {
	w.t.Helper()
	path := filepath.Join(w.home, "report.json")
	argv := append([]string{plimsoll, "run", "--layer", m.layer, "--report", path}, flags...)
	argv = append(argv, "--", "sh", "-c", script)
	r := w.run(func(c *exec.Cmd) {
		c.Dir = dir
		c.Env = w.environment("PWD="+dir, "PLIMSOLL_RESOURCES_ON_PRESSURE=off")
	}, argv...)
	var report diskReport
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		w.t.Fatalf("no report: %v\n%s", err, r.stderr)
	}
	w.nothingLeft()
	return r, report
}

// A child of the agent that writes without an end is ended at write_max, and the agent goes on. The
// writer is slow enough for an emulated machine's clock, and stops by itself at 2 GiB.
func TestDiskRunawayChild(t *testing.T) {
	everyLayer(t, func(t *testing.T, m mode) {
		dir, w := diskDir(t), newWorld(t)
		const most = 96 << 20
		r, report := w.writing(m, dir, "dd if=/dev/zero of=output bs=1M count=2048 oflag=dsync 2>/dev/null; echo status $?; rm -f output; echo goes on",
			"--write-max", strconv.Itoa(most))
		if r.status != 0 || r.stdout != "status 143\ngoes on\n" || report.Outcome != "ok" {
			t.Errorf("status %d, outcome %s, it said %q; want that dd died of SIGTERM and the shell went on\n%s", r.status, report.Outcome, r.stdout, r.stderr)
		}
		if !strings.Contains(r.stderr, "dd (pid ") || !strings.Contains(r.stderr, "is ended: the run has written") {
			t.Errorf("nobody was told:\n%s", r.stderr)
		}
		for _, l := range report.Limits {
			if l.Name == "write_max" && (l.Reached != "hard" || l.Hard != most || l.Used < most || !strings.HasPrefix(l.Did, "ended dd (pid ")) {
				t.Errorf("the report says %+v", l)
			}
		}
	})
}

// A loop that starts one writer after the other is ended, not each of its writers, and an agent that is such a loop is ended as well: whether it
// keeps their file open, or each has one of its own.
func TestDiskLoopOfWriters(t *testing.T) {
	// They stop by themselves at 2 GiB: whoever kills this test must not find a full disk.
	const most, file = 64 << 20, "until [ $((i += 1)) -gt 64 ]; do head -c 30M /dev/zero | tail -c 30M; done > output"
	const files = "until [ $((i += 1)) -gt 100 ]; do head -c 20M /dev/zero > output$i; done"
	everyLayer(t, func(t *testing.T, m mode) {
		for _, loop := range []string{file, files} {
			dir, w := diskDir(t), newWorld(t)
			r, report := w.writing(m, dir, "("+loop+"); echo status $?; rm -f output*; echo goes on", "--write-max", strconv.Itoa(most))
			if !strings.HasSuffix(r.stdout, "status 143\ngoes on\n") || report.Outcome != "ok" || !strings.Contains(r.stderr, "which starts ") {
				t.Errorf("%s: outcome %s, it said %q\n%s", loop, report.Outcome, r.stdout, r.stderr)
			}
			if n := strings.Count(r.stderr, "is ended: the run has written"); n > 3 {
				t.Errorf("%s: %d were ended one after the other:\n%s", loop, n, r.stderr)
			}
			dir, w = diskDir(t), newWorld(t)
			r, report = w.writing(m, dir, loop, "--write-max", strconv.Itoa(most))
			if r.status != 143 || report.Outcome != "limit" || report.LimitReached != "write_max" {
				t.Errorf("the agent, %s: status %d, outcome %s, limit %q\n%s", loop, r.status, report.Outcome, report.LimitReached, r.stderr)
			}
		}
	})
}

// What fills a file system is ended before it is full, and when that is the command itself the run ends. The
// file system is one of its own, which only root can mount.
func TestDiskIsNeverFull(t *testing.T) {
	dir := ownDisk(t)
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		before := freeOn(t, dir)
		output := filepath.Join(dir, "output")
		r, report := w.writing(m, dir, "exec dd if=/dev/zero of=output bs=1M oflag=dsync", "--free-min", "128M")
		left := freeOn(t, dir)
		st, err := os.Stat(output)
		if err != nil {
			t.Fatalf("nothing was written: %v\n%s", err, r.stderr)
		}
		if left <= 0 || strings.Contains(r.stderr, "No space left on device") {
			t.Errorf("the disk was full (%d bytes left of %d, %d written):\n%s", left, before, st.Size(), r.stderr)
		}
		if r.status != 143 || report.Outcome != "limit" || report.LimitReached != "free_min" {
			t.Errorf("status %d, outcome %s, limit %q; want the command ended at free_min\n%s", r.status, report.Outcome, report.LimitReached, r.stderr)
		}
		if err := os.Remove(output); err != nil {
			t.Fatal(err)
		}
	})
}

// ownDisk is a file system of 512 MiB for this test.
func ownDisk(t *testing.T) string {
	t.Helper()
	image, point := filepath.Join(diskDir(t), "image"), t.TempDir()
	for _, args := range [][]string{
		{"truncate", "--size=512M", image},
		{"mkfs.ext4", "-q", "-F", image},
		{"mount", "-o", "loop", image, point},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system of our own: %s: %v: %s", args[0], err, bytes.TrimSpace(out))
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", point).Run() })
	return point
}
