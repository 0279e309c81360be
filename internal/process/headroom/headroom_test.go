package headroom_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/rogpeppe/go-internal/txtar"
)

const (
	mb        = limit.MiB
	gb        = limit.GiB
	unlimited = headroom.Unlimited
)

// tree is a recorded file system of testdata.
func tree(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	root := fstest.MapFS{}
	for _, f := range archive.Files {
		root[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return root
}

func TestRecordedHosts(t *testing.T) {
	for name, want := range map[string]struct {
		room, withSwap headroom.Room
		capacity       limit.Bytes
		ceiling        limit.Bytes // with swap
		approximate    string
	}{
		// 6G − (5G − 1G inactive file); swap: 1G − 256M
		"v2-systemd": {
			room:     headroom.Room{Physical: 2 * gb, Total: 2 * gb, BoundBy: "/user.slice"},
			withSwap: headroom.Room{Physical: 2 * gb, Swap: 768 * mb, Total: 2816 * mb, BoundBy: "/user.slice"},
			capacity: 6 * gb, ceiling: 7 * gb,
		},
		// memory 3G − (2G − 512M) = 1.5G; both 4G − (3G − 512M) = 1.5G, so no swap is left
		"v1": {
			room:     headroom.Room{Physical: 1536 * mb, Total: 1536 * mb, BoundBy: "/slurm/uid_1000/job_7"},
			withSwap: headroom.Room{Physical: 1536 * mb, Total: 1536 * mb, BoundBy: "/slurm/uid_1000/job_7"},
			capacity: 3 * gb, ceiling: 4 * gb,
		},
		"hybrid": {
			room:     headroom.Room{Physical: gb, Total: gb, BoundBy: "/process_api"},
			withSwap: headroom.Room{Physical: gb, Swap: 2 * gb, Total: 3 * gb, BoundBy: "/process_api"},
			capacity: 2 * gb, ceiling: 6 * gb,
		},
		"container-v2": {
			room:     headroom.Room{Physical: 924 * mb, Total: 924 * mb, BoundBy: "/"},
			withSwap: headroom.Room{Physical: 924 * mb, Total: 924 * mb, BoundBy: "/"},
			capacity: gb, ceiling: gb,
		},
		// used more than its limit: nothing is left, and not less than nothing
		"container-v1": {
			room:     headroom.Room{BoundBy: "/docker/4f5c"},
			withSwap: headroom.Room{Swap: 2 * gb, Total: 2 * gb, BoundBy: "/docker/4f5c"},
			capacity: 512 * mb, ceiling: 512*mb + 4*gb,
		},
		"outside": {
			room:     headroom.Room{Physical: 2 * gb, Total: 2 * gb, BoundBy: "/limited"},
			withSwap: headroom.Room{Physical: 2 * gb, Swap: 2 * gb, Total: 4 * gb, BoundBy: "/limited"},
			capacity: 2 * gb, ceiling: 6 * gb, approximate: "outside the mount /mnt/with space",
		},
		"old": {
			room:     headroom.Room{Physical: 1664 * mb, Total: 1664 * mb, BoundBy: headroom.Host},
			withSwap: headroom.Room{Physical: 1664 * mb, Total: 1664 * mb, BoundBy: headroom.Host},
			capacity: 4 * gb, ceiling: 4 * gb, approximate: "MemAvailable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := headroom.Read(headroom.Source{Root: tree(t, name)})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Available(false); got != want.room {
				t.Errorf("available %+v, want %+v", got, want.room)
			}
			if got := r.Available(true); got != want.withSwap {
				t.Errorf("available with swap %+v, want %+v", got, want.withSwap)
			}
			if got := r.Capacity(); got != want.capacity {
				t.Errorf("capacity %s, want %s", got, want.capacity)
			}
			if got := r.Ceiling(true).Total; got != want.ceiling {
				t.Errorf("ceiling %s, want %s", got, want.ceiling)
			}
			notes := strings.Join(r.Approximate, "; ")
			if (want.approximate == "") != (notes == "") || !strings.Contains(notes, want.approximate) {
				t.Errorf("approximate: %q, want %q", notes, want.approximate)
			}
		})
	}
}

func TestHostBindsWhereNoCgroupLeavesLess(t *testing.T) {
	root := tree(t, "v2-systemd")
	delete(root, "sys/fs/cgroup/user.slice/memory.max")
	delete(root, "sys/fs/cgroup/user.slice/memory.swap.max")
	r, err := headroom.Read(headroom.Source{Root: root})
	want := headroom.Room{Physical: 8 * gb, Swap: 2 * gb, Total: 10 * gb, BoundBy: headroom.Host}
	if got := r.Available(true); err != nil || got != want {
		t.Errorf("available %+v (%v), want %+v", got, err, want)
	}
	if len(r.Cgroups) != 1 || r.Cgroups[0].Limit != 12*gb || r.Cgroups[0].SwapLimit != unlimited {
		t.Errorf("cgroups %+v, want the scope's limit of 12G alone", r.Cgroups)
	}
}

func TestRemovedCgroupStillHasAncestors(t *testing.T) {
	root := tree(t, "v2-systemd")
	root["proc/self/cgroup"].Data = []byte("0::/user.slice/gone.scope (deleted)\n")
	r, err := headroom.Read(headroom.Source{Root: root})
	if err != nil || r.Available(false).BoundBy != "/user.slice" {
		t.Errorf("bound by %q (%v)", r.Available(false).BoundBy, err)
	}
}

func TestNoMeminfoIsAnError(t *testing.T) {
	if _, err := headroom.Read(headroom.Source{Root: fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "meminfo") {
		t.Errorf("got %v", err)
	}
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 0 kB\n")}}
	if _, err := headroom.Read(headroom.Source{Root: root}); err == nil {
		t.Error("a host without memory was believed")
	}
}

func TestThisMachine(t *testing.T) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		t.Fatal(err)
	}
	room := r.Available(true)
	if r.MemTotal < 64*mb || room.Physical <= 0 || room.Physical > r.MemTotal || room.Total != room.Physical+room.Swap {
		t.Errorf("reading %+v gives %+v", r, room)
	}
	if r.Capacity() > r.MemTotal {
		t.Errorf("capacity %s of %s", r.Capacity(), r.MemTotal)
	}
}

func TestMinFree(t *testing.T) {
	for total, want := range map[limit.Bytes]limit.Bytes{
		0: 256 * mb, 256 * mb: 32 * mb, 2 * gb: 256 * mb, 4 * gb: 256 * mb, 16 * gb: 16 * gb / 20, 40 * gb: 2 * gb, unlimited: 2 * gb,
	} {
		if got := headroom.MinFree(total); got != want {
			t.Errorf("MinFree(%s) = %s, want %s", total, got, want)
		}
	}
}

func TestPressure(t *testing.T) {
	source := headroom.Source{Root: tree(t, "v2-systemd")}
	p := headroom.ReadPressure(source)
	if p.Memory == nil || p.IO == nil {
		t.Fatalf("pressure %+v", p)
	}
	want := headroom.PSI{
		Some: headroom.Stall{Avg10: 1.5, Avg60: 0.4, Avg300: 0.1, Total: 123456 * time.Microsecond},
		Full: headroom.Stall{Avg10: 0.5, Avg60: 0.1, Total: 65432 * time.Microsecond},
	}
	if *p.Memory != want {
		t.Errorf("memory %+v, want %+v", *p.Memory, want)
	}
	if p.IO.Some.Avg10 != 63 {
		t.Errorf("io %+v", *p.IO)
	}
	p = headroom.ReadCgroupPressure(source, "/sys/fs/cgroup/user.slice")
	if p.Memory == nil || p.Memory.Some.Avg10 != 9 || p.IO != nil {
		t.Errorf("cgroup pressure %+v", p)
	}
	if p := headroom.ReadPressure(headroom.Source{Root: tree(t, "v1")}); p.Memory != nil || p.IO != nil {
		t.Errorf("a host without PSI has %+v", p)
	}
}

// FuzzRead gives every file that is parsed any content: sizes are never negative, never more
// than the host has, and the parts add up.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"v2-systemd", "v1", "hybrid", "container-v1", "container-v2", "outside", "old"} {
		root := tree(f, name)
		var limits, stat []byte
		for path, file := range root {
			switch filepath.Base(path) {
			case "memory.max", "memory.limit_in_bytes", "memory.swap.max":
				limits = file.Data
			case "memory.stat":
				stat = file.Data
			}
		}
		text := func(path string) []byte {
			data, _ := fs.ReadFile(root, path)
			return data
		}
		f.Add(text("proc/meminfo"), text("proc/self/cgroup"), text("proc/self/mountinfo"), limits, stat)
	}
	f.Add([]byte("MemTotal: 9223372036854775807 kB\nSwapTotal: 9223372036854775807 kB\nSwapFree: 9223372036854775807 kB\n"),
		[]byte("0::/a/../..\n"), []byte("1 1 0:1 / /sys/fs/cgroup rw - cgroup2 x rw\n"), []byte("18446744073709551615"), []byte("inactive_file 99999999999999999999"))
	f.Fuzz(func(t *testing.T, meminfo, cgroup, mounts, limits, stat []byte) {
		root := fstest.MapFS{}
		for path, data := range map[string][]byte{"proc/meminfo": meminfo, "proc/self/cgroup": cgroup, "proc/self/mountinfo": mounts} {
			root[path] = &fstest.MapFile{Data: data}
		}
		for _, dir := range []string{"sys/fs/cgroup/", "sys/fs/cgroup/a/", "sys/fs/cgroup/memory/"} {
			for _, name := range []string{
				"memory.max", "memory.current", "memory.swap.max", "memory.swap.current",
				"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes",
			} {
				root[dir+name] = &fstest.MapFile{Data: limits}
			}
			root[dir+"memory.stat"] = &fstest.MapFile{Data: stat}
		}
		r, err := headroom.Read(headroom.Source{Root: root})
		if err != nil {
			return
		}
		for _, swap := range []bool{false, true} {
			for _, room := range []headroom.Room{r.Available(swap), r.Ceiling(swap)} {
				if room.Physical < 0 || room.Swap < 0 || room.Physical > r.MemTotal || room.Swap > r.SwapTotal ||
					room.Total != room.Physical+room.Swap && room.Total != unlimited || room.BoundBy == "" {
					t.Fatalf("%+v of %+v", room, r)
				}
			}
		}
	})
}

func FuzzParsePSI(f *testing.F) {
	f.Add([]byte("some avg10=1.50 avg60=0.40 avg300=0.10 total=123456\nfull avg10=0.50 avg60=0.10 avg300=0.00 total=65432\n"))
	f.Add([]byte("some avg10=NaN avg60=-1 avg300=1e308 total=18446744073709551615"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok := headroom.ParsePSI(text)
		for _, s := range []headroom.Stall{p.Some, p.Full} {
			for _, share := range []float64{s.Avg10, s.Avg60, s.Avg300} {
				if !(share >= 0 && share <= 100) {
					t.Fatalf("a share of %v", share)
				}
			}
			if s.Total < 0 {
				t.Fatalf("a total of %v", s.Total)
			}
		}
		if !ok && strings.HasPrefix(string(text), "some ") {
			t.Fatal("a some line was not seen")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := headroom.Read(headroom.Source{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadDeep reads the recorded systemd host from a real directory.
func BenchmarkReadDeep(b *testing.B) {
	if runtime.GOOS == "windows" {
		b.Skip("recorded names have a colon")
	}
	dir := b.TempDir()
	if err := os.CopyFS(dir, tree(b, "v2-systemd")); err != nil {
		b.Fatal(err)
	}
	source := headroom.Source{Root: os.DirFS(dir)}
	for b.Loop() {
		if _, err := headroom.Read(source); err != nil {
			b.Fatal(err)
		}
	}
}
