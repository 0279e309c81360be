package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte("write_bytes: 4096\ncancelled_write_bytes: 12\n"))
	f.Add([]byte("pos:\t0\nflags:\t0100001\nmnt_id:\t29\n"))
	f.Add([]byte(`29 1 8:1 / /a\040b rw - ext4 /dev/sda1 rw` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, _ := parseIO(b); n < 0 {
			t.Errorf("%d bytes written", n)
		}
		_, _, _ = parseFDInfo(b)
		mounts := parseMounts(b)
		if len(mounts.list) > maxMounts {
			t.Errorf("%d mounts", len(mounts.list))
		}
		_ = mounts.mountFor("/a b/c")
	})
}

func TestMounts(t *testing.T) {
	table := parseMounts([]byte(`1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:5 / /home\040x rw shared:1 - nfs4 server:/ rw
3 1 0:6 / /tmp rw - tmpfs none rw
`))
	for path, want := range map[string]struct {
		point string
		local bool
	}{"/home x/a": {"/home x", false}, "/tmp/f": {"/tmp", false}, "/tmpfile": {"/", true}} {
		if m := table.mountFor(path); m == nil || m.point != want.point || m.isLocalDisk() != want.local {
			t.Errorf("%s is on %+v, want %+v", path, m, want)
		}
	}
}

// oneRun is a run of one process.
type oneRun struct {
	cmd   *exec.Cmd
	ended chan string
}

func (r oneRun) Processes() []Process { return []Process{{PID: r.cmd.Process.Pid, Name: "dd"}} }
func (r oneRun) End(p Process, name string) {
	r.ended <- name
	_ = r.cmd.Process.Kill()
}

// TestARunawayWriter on a file system of its own is ended before that is full.
func TestARunawayWriter(t *testing.T) {
	dir := t.TempDir()
	image, point := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, int64(512*limit.MiB)); err != nil {
		t.Fatal(err)
	}
	_ = os.Mkdir(point, 0o755)
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, point}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system of our own here: %s: %v: %s", args[0], err, out)
		}
	}
	defer func() { _ = unix.Unmount(point, unix.MNT_DETACH) }()
	run := oneRun{exec.Command("sh", "-c", "exec dd if=/dev/zero of=\"$0\" bs=1M oflag=dsync 2>/dev/null", filepath.Join(point, "output")), make(chan string, 16)}
	if err := run.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := Start(Options{
		Lines: Lines{FreeMin: 160 * limit.MiB}, Dirs: []string{point}, Run: run, Note: func(Event) {},
	})
	defer stop()
	// A slow disk takes minutes to write that much: only a writer that ended by itself was ended by nobody.
	err := run.cmd.Wait()
	select {
	case name := <-run.ended:
		if name != FreeMin {
			t.Errorf("ended for %s", name)
		}
	default:
		t.Errorf("nobody ended the writer: %v", err)
	}
	if _, free, ok := statfs(point); !ok || free == 0 {
		t.Errorf("%s left", free)
	}
}
