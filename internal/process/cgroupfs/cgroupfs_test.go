package cgroupfs_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
)

const (
	hybridMounts = `32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	hybridGroups = "9:name=systemd:/\n8:pids:/\n4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n"
)

func TestParseFindsEveryHierarchyOfAHybridHost(t *testing.T) {
	p := cgroupfs.Parse([]byte(hybridGroups), []byte(hybridMounts))
	if p.Unified != "/sys/fs/cgroup/unified" || p.V1["memory"] != "/sys/fs/cgroup/memory/a/b" || p.V1["pids"] != "/sys/fs/cgroup/pids" {
		t.Errorf("got %+v", p)
	}
	if p.V1["cpu"] != "/sys/fs/cgroup/cpu" {
		t.Errorf("cpu is mounted and joined, got %q", p.V1["cpu"])
	}
}

func TestParseSeesAContainersGroupAsItsRoot(t *testing.T) {
	p := cgroupfs.Parse([]byte("0::/docker/abc/inner\n"), []byte(`30 29 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw`+"\n"))
	if p.Unified != "/sys/fs/cgroup/inner" {
		t.Errorf("Unified = %q", p.Unified)
	}
	if p := cgroupfs.Parse([]byte("0::/../outside\n"), []byte(`30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw`)); p.Unified != "" {
		t.Errorf("a group outside of the namespace has no directory, got %q", p.Unified)
	}
	if p := cgroupfs.Parse([]byte("0::/docker/abcdef\n"), []byte(`30 29 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw`)); p.Unified != "" {
		t.Errorf("a prefix of a name is not a parent, got %q", p.Unified)
	}
}

func TestAppendPidsSkipsWhatIsNoPid(t *testing.T) {
	got := cgroupfs.AppendPids(nil, []byte("12\n0\nx\n-4\n99999999999999999999\n7"))
	if !slices.Equal(got, []int{12, 7}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(hybridGroups, hybridMounts)
	f.Add("0::/x y\n", `1 2 0:1 / /mnt/a\040b rw - cgroup2 none rw`)
	f.Fuzz(func(t *testing.T, groups, mounts string) {
		p := cgroupfs.Parse([]byte(groups), []byte(mounts))
		for c, dir := range p.V1 {
			if !path.IsAbs(dir) || strings.Contains(dir, "/../") {
				t.Fatalf("%s: %q is no clean absolute directory", c, dir)
			}
		}
		if p.Unified != "" && !path.IsAbs(p.Unified) {
			t.Fatalf("%q", p.Unified)
		}
		for _, pid := range cgroupfs.AppendPids(nil, []byte(groups)) {
			if pid <= 0 {
				t.Fatalf("pid %d", pid)
			}
		}
	})
}

func FuzzField(f *testing.F) {
	f.Add([]byte("anon 12\nfile 99999999999999999999\n"), "file")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		if n := cgroupfs.Field(text, name); n < 0 {
			t.Errorf("%q is %d", name, n)
		}
	})
}
