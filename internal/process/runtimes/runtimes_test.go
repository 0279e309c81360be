package runtimes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/limit"
)

// What the user has set stays, what a run around this one has set is made for this one's limit.
func TestHandDown(t *testing.T) {
	for name, c := range map[string]struct {
		user   []string
		memory limit.Bytes
		want   []string
	}{
		"nothing set": {nil, 4 * limit.GiB, []string{
			"DENO_V8_FLAGS=--max-old-space-size=3840", "NODE_OPTIONS=--max-old-space-size=3840",
		}},
		"no limit":       {[]string{"A=1"}, 0, []string{"A=1"}},
		"a small limit":  {nil, 256 * limit.MiB, []string{"DENO_V8_FLAGS=--max-old-space-size=128", "NODE_OPTIONS=--max-old-space-size=128"}},
		"no room for V8": {nil, 64 * limit.MiB, []string{}},
		"other options stay as they are written": {
			[]string{`NODE_OPTIONS=--require "./a  b.js"`, "DENO_V8_FLAGS=--expose-gc"},
			limit.GiB,
			[]string{"DENO_V8_FLAGS=--expose-gc,--max-old-space-size=832", `NODE_OPTIONS=--require "./a  b.js" --max-old-space-size=832`},
		},
		"the user's own": {
			[]string{"NODE_OPTIONS=--max_old_space_size=100 --inspect", "DENO_V8_FLAGS=--max-heap-size=9"},
			limit.GiB,
			[]string{"DENO_V8_FLAGS=--max-heap-size=9", "NODE_OPTIONS=--max_old_space_size=100 --inspect"},
		},
		"by percentage": {
			[]string{"NODE_OPTIONS=--max-old-space-size-percentage=50"},
			limit.GiB,
			[]string{"DENO_V8_FLAGS=--max-old-space-size=832", "NODE_OPTIONS=--max-old-space-size-percentage=50"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := runtimes.HandDown(c.user, c.memory)
			check := func(got []string, memory limit.Bytes) {
				got = slices.DeleteFunc(slices.Clone(got), func(kv string) bool { return strings.HasPrefix(kv, runtimes.MemoryName+"=") })
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Errorf("under %s: %q, want %q", memory.Human(), got, c.want)
				}
			}
			check(got, c.memory)
			if c.memory > 0 { // through a run around it, whatever that one's limit was
				check(runtimes.HandDown(runtimes.HandDown(c.user, 8*limit.GiB), c.memory), c.memory)
				check(runtimes.HandDown(runtimes.HandDown(c.user, 64*limit.MiB), c.memory), c.memory)
			}
		})
	}
}

func TestHeap(t *testing.T) {
	environ := []string{"NODE_OPTIONS=--max-old-space-size=10 --max_old_space_size=20", "DENO_V8_FLAGS=--expose-gc,--max-old-space-size=30"}
	for command, want := range map[string]limit.Bytes{
		"/usr/bin/node a.js":                            20,
		"node --max-old-space-size=40 a.js":             40,
		"node a.js --max-old-space-size=40":             20,
		"deno run a.js":                                 30,
		"npx --max-old-space-size=40":                   20,
		"node --max-old-space-size=99999999999999 a.js": 20,
		"": 20,
	} {
		if got := runtimes.Heap(environ, strings.Fields(command)); got != want*limit.MiB {
			t.Errorf("%s: %s, want %d MiB", command, got.Human(), want)
		}
	}
	if got := runtimes.Heap(nil, []string{"node"}); got != 0 {
		t.Errorf("nobody has said so: %s", got.Human())
	}
}

// FuzzHandDown: nothing of the user's environment is lost, and a second time changes nothing.
func FuzzHandDown(f *testing.F) {
	f.Add("--require x", "--a,--b", int64(1<<30), int64(1<<32))
	f.Add("--max-old-space-size=832", "", int64(1<<30), int64(1))
	f.Fuzz(func(t *testing.T, node, deno string, memory, outer int64) {
		user := []string{"NODE_OPTIONS=" + node, "DENO_V8_FLAGS=" + deno, "A=b"}
		once := runtimes.HandDown(user, limit.Bytes(memory))
		for _, kv := range user[:2] {
			name, value, _ := strings.Cut(kv, "=")
			if value != "" && !slices.ContainsFunc(once, func(got string) bool { return strings.HasPrefix(got, name+"="+value) }) {
				t.Errorf("%q is lost: %q", kv, once)
			}
		}
		twice := runtimes.HandDown(once, limit.Bytes(memory))
		slices.Sort(once)
		slices.Sort(twice)
		if !slices.Equal(twice, once) {
			t.Errorf("a second time: %q, then %q", once, twice)
		}
		_ = runtimes.Heap(runtimes.HandDown(once, limit.Bytes(outer)), []string{"node", node})
	})
}
