package archive

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openArchive(t testing.TB, dir string, o Options) *Archive {
	t.Helper()
	o.Dir = dir
	a, err := Open(o)
	must(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

const ns = "project/x"

// bodies are those of all lines, with what they share behind.
func bodies(t testing.TB, a *Archive) (out []string, seen ReadReport) {
	t.Helper()
	var at Cursor
	seen, err := a.Read(ns, &at, func(_ Position, l Line) error {
		out = append(out, string(l.Body)+string(l.Shared))
		return nil
	})
	must(t, err)
	return out, seen
}

func line(n int) Line {
	return Line{Key: Key{1, byte(n)}, Shared: []byte(`{"run":"r1"}`), Body: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// file is the only segment.
func file(t testing.TB, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"+segmentExt))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("segments: %v", found)
	}
	return found[0]
}

// A process may die at any byte: what was written whole is there, and the next writer goes on.
func TestASegmentThatEndsAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{})
	for n := range 4 {
		must(t, a.Append(t.Context(), ns, false, line(n)))
	}
	all, _ := bodies(t, a)
	name := file(t, dir)
	data, err := os.ReadFile(name)
	must(t, err)
	head := bytes.IndexByte(data, '\n') + 1
	for n := head; n < len(data); n++ {
		must(t, os.WriteFile(name, data[:n], 0o600))
		whole := bytes.Count(data[head:n], []byte("\n"))
		b := openArchive(t, dir, Options{})
		if got, seen := bodies(t, b); !slices.Equal(got, all[:whole]) || seen.Damaged != 0 {
			t.Fatalf("cut at %d: %q, %+v", n, got, seen)
		}
		must(t, b.Append(t.Context(), ns, false, line(9)))
		torn := int64(0)
		if data[n-1] != '\n' {
			torn = 1
		}
		if got, seen := bodies(t, b); !slices.Equal(got[:whole], all[:whole]) || len(got) != whole+1 || seen.Damaged != 0 || b.Torn() != torn {
			t.Fatalf("cut at %d and gone on with: %q, %+v, torn %d", n, got, seen, b.Torn())
		}
		must(t, b.Close())
	}
	// Less than a head: another segment is begun.
	must(t, os.WriteFile(name, data[:head/2], 0o600))
	b := openArchive(t, dir, Options{})
	must(t, b.Append(t.Context(), ns, false, line(1)))
	if got, _ := bodies(t, b); !slices.Equal(got, all[1:2]) {
		t.Errorf("after half a head: %q", got)
	}
}

// Whatever byte is wrong, no other entry is lost with the one that it is in.
func TestAWrongByteCostsOneEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{})
	for n := range 5 {
		must(t, a.Append(t.Context(), ns, false, line(n)))
	}
	all, _ := bodies(t, a)
	name := file(t, dir)
	data, err := os.ReadFile(name)
	must(t, err)
	for i := range data {
		for _, wrong := range []byte{data[i] ^ 1, data[i] ^ 0x80, '\n', 0} {
			if wrong == data[i] {
				continue
			}
			broken := bytes.Clone(data)
			broken[i] = wrong
			must(t, os.WriteFile(name, broken, 0o600))
			got, seen := bodies(t, a)
			lost := len(all) - len(got)
			if lost > 1 || seen.Unshared > 0 || lost > 0 && i != len(data)-1 && seen.Damaged == 0 {
				t.Fatalf("byte %d is %q: %q, %+v", i, wrong, got, seen)
			}
			for _, g := range got {
				if !slices.Contains(all, g) {
					t.Fatalf("byte %d is %q: an entry nobody wrote: %q", i, wrong, g)
				}
			}
		}
	}
}

func TestRewriteLeavesNoByteAndReadersBeginAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{})
	for n := range 50 {
		must(t, a.Append(t.Context(), ns, false, line(n)))
	}
	var at Cursor
	_, err := a.Read(ns, &at, func(Position, Line) error { return nil })
	must(t, err)
	b := openArchive(t, dir, Options{})
	done, err := b.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) {
		if string(l.Body) == `{"n":7}` {
			return nil, true
		}
		return l.Body, false
	})
	if err != nil || done.Segments != 1 || done.Dropped != 1 || done.Kept != 49 {
		t.Fatalf("%+v, %v", done, err)
	}
	data, err := os.ReadFile(file(t, dir))
	must(t, err)
	if bytes.Contains(data, []byte(`{"n":7}`)) {
		t.Error("it is still there")
	}
	must(t, a.Append(t.Context(), ns, false, line(99))) // the writer finds its segment replaced
	count := 0
	seen, err := a.Read(ns, &at, func(_ Position, l Line) error {
		if count++; l.Shared == nil {
			t.Errorf("%s has lost what it shares", l.Body)
		}
		return nil
	})
	if err != nil || len(seen.Gone) != 1 || count != 50 {
		t.Errorf("%d lines, %+v, %v", count, seen, err)
	}
	if got, _ := bodies(t, a); len(got) != 50 {
		t.Errorf("%d lines are there", len(got))
	}
}

func TestTheOldGenerationDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{})
	for n := range 3 {
		must(t, a.Append(t.Context(), ns, false, line(n)))
	}
	old := file(t, dir)
	data, err := os.ReadFile(old)
	must(t, err)
	_, err = a.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) { return []byte(`{"new":1}`), true })
	must(t, err)
	// As after a crash between the two steps of a rewrite, and one while the new file was written.
	must(t, os.WriteFile(old, data, 0o600))
	half := strings.Replace(old, ".0.seg", ".2.seg.tmp-abc", 1)
	must(t, os.WriteFile(half, data[:50], 0o600))
	b := openArchive(t, dir, Options{})
	if got, _ := bodies(t, b); len(got) != 3 || !strings.HasPrefix(got[0], `{"new":1}`) {
		t.Errorf("%q", got)
	}
	must(t, b.Append(t.Context(), ns, false, line(5)))
	must(t, b.Sweep(ns))
	for _, name := range []string{old, half} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if got, _ := bodies(t, b); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

func TestSegmentsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{SegmentBytes: 4 << 10})
	big := Line{Body: []byte(`{"x":"` + strings.Repeat("x", 1000) + `"}`)}
	must(t, a.Append(t.Context(), ns, true, slices.Repeat([]Line{big}, 20)...))
	segments, err := a.Segments(ns)
	if err != nil || len(segments) < 4 || len(segments) > 6 {
		t.Errorf("%d segments, %v", len(segments), err)
	}
	if n, err := a.Lines(ns); err != nil || n != int64(20+len(segments)) {
		t.Errorf("%d lines, %v", n, err)
	}
	if err := a.Append(t.Context(), ns, false, Line{Body: []byte(`{"x":"` + strings.Repeat("x", MaxLine) + `"}`)}); err == nil {
		t.Error("a line that no reader would take was written")
	}
	if names, err := a.Namespaces(); err != nil || !slices.Equal(names, []string{ns}) {
		t.Errorf("%q, %v", names, err)
	}
	must(t, os.Remove(filepath.Join(dir, FolderName(ns), nameFile)))
	if names, err := a.Namespaces(); err != nil || !slices.Equal(names, []string{ns}) {
		t.Errorf("without the file of its name: %q, %v", names, err)
	}
}

// The test binary is also the processes that others run beside.
const childEnv = "PLIMSOLL_TEST_ARCHIVE"

func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	a, err := Open(Options{Dir: dir, SegmentBytes: 8 << 10})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	times, _ := strconv.Atoi(os.Getenv(childEnv + "_TIMES"))
	for n := 0; n < times || times == 0; n++ {
		l := Line{Shared: []byte(`{"run":"r1"}`), Body: fmt.Appendf(nil, `{"p":%d,"n":%d,"x":%q}`, os.Getpid(), n, strings.Repeat("words ", 20))}
		if err := a.Append(context.Background(), ns, false, l); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n) // it is written from here on
	}
	os.Exit(0)
}

func child(t *testing.T, dir string, times int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s_TIMES=%d", childEnv, times))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	must(t, cmd.Start())
	return cmd, &out
}

func TestProcessesThatWriteAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		cmd, _ := child(t, dir, 20)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		must(t, cmd.Wait())
	}
	got, seen := bodies(t, openArchive(t, dir, Options{}))
	if len(got) != 80 || seen.Damaged != 0 || seen.Unshared != 0 {
		t.Errorf("%d entries, %+v", len(got), seen)
	}
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 80 {
		t.Errorf("%d different ones", n)
	}
}

// What a process has said is written is there after it was killed, whenever that was and whoever else writes and rewrites.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openArchive(t, dir, Options{SegmentBytes: 8 << 10})
	want := 0
	for round := range 6 {
		one, said := child(t, dir, 0)
		two, alsoSaid := child(t, dir, 0)
		var rewriting sync.WaitGroup
		rewriting.Go(func() {
			_, err := a.Rewrite(t.Context(), ns, true, func(l Line) ([]byte, bool) { return l.Body, true })
			if err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Duration(50+20*round) * time.Millisecond) // any moment will do: it only says how much was written
		must(t, one.Process.Kill())
		must(t, two.Process.Kill())
		_ = one.Wait()
		_ = two.Wait()
		rewriting.Wait()
		want += bytes.Count(said.Bytes(), []byte("\n")) + bytes.Count(alsoSaid.Bytes(), []byte("\n"))
		got, seen := bodies(t, a)
		// Of each process one entry may be there that it had not said yet.
		if len(got) < want || len(got) > want+2*(round+1) || seen.Unshared != 0 {
			t.Fatalf("round %d: %d entries, %d were said to be written; %+v", round, len(got), want, seen)
		}
	}
	if want == 0 {
		t.Error("nobody wrote anything: this test holds nothing")
	}
}
