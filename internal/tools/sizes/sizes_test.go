package sizes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SIZES_TEST_WRITER"); dir != "" {
		a, err := Open(dir, Options{})
		if err != nil {
			panic(err)
		}
		for i := range 25 {
			a.Observe(called("everything", "list", int64(i)))
			if err := a.Flush(); err != nil {
				panic(err)
			}
		}
		if err := a.Close(); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func called(server, tool string, bytes int64) journal.Record {
	return journal.Record{Time: time.Unix(1e9, 0), Event: journal.ToolCalled{Server: server, Method: "tools/call", Tool: tool, UpstreamBytes: bytes, DeliveredBytes: bytes / 2}}
}

func TestWhatIsKeptOfEachTool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sizes")
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []int64
	var sum int64
	for range 999 {
		n := int64(rand.ExpFloat64() * 20_000)
		all = append(all, n)
		sum += n
		a.Observe(called("argo", "list_applications", n))
	}
	a.Observe(journal.Record{Time: time.Now(), Event: journal.ToolCalled{Server: "argo", Tool: "list_applications", Spilled: true, UpstreamBytes: 7, DeliveredBytes: 7}})
	a.Observe(called("argo", "small", 12))
	a.Observe(journal.Record{Event: journal.ToolRefused{Server: "argo"}})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := Read(dir)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	slices.Sort(all)
	r, p95 := rows[0], all[948] // the call of 7 bytes comes before it
	if r.Calls != 1000 || r.Spilled != 1 || r.UpstreamBytes != sum+7 || r.AverageBytes != (sum+7)/1000 || r.MaxBytes != all[998] {
		t.Errorf("%+v, want the sum %d and the largest %d", r, sum, all[998])
	}
	if r.P95Bytes < p95 || float64(r.P95Bytes) > 1.05*float64(p95)+1 {
		t.Errorf("p95 %d, want %d to 5 %% more", r.P95Bytes, p95)
	}
	if fi, err := os.Stat(filepath.Join(dir, fileOf("argo"))); err != nil || fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v; want a private file", fi, err)
	}
}

// What definitions take is that of the last list, also where an older one could not be written before; without the option there is none.
func TestTheLastListCounts(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "sizes")
		a, err := Open(dir, Options{Lists: keeps})
		if err != nil {
			t.Fatal(err)
		}
		listed := func(server string, tokens, deferred, at int) {
			a.Observe(journal.Record{Time: time.Unix(int64(at), 0), Event: journal.ToolsListed{Server: server, Tokens: tokens, Deferred: deferred}})
		}
		listed("a", 9000, 0, 1)
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		listed("a", 500, 40, 3)
		if keeps {
			a.giveBack("a", map[string]*tally{Listed: {Definitions: 7777, Last: time.Unix(2, 0)}}) // a write that failed
		}
		listed("a", 0, 0, 4) // counted by nobody
		listed("b", 300, 2, 5)
		a.Observe(called("a", "small", 12))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := Read(dir)
		tokens, deferred, calls := 0, 0, int64(0)
		for _, r := range rows {
			tokens, deferred, calls = tokens+r.DefinitionTokens, deferred+r.Deferred, calls+r.Calls
		}
		if want := map[bool]int{true: 800, false: 0}[keeps]; err != nil || tokens != want || calls != 1 || keeps && deferred != 42 {
			t.Errorf("%v: %+v, %v", keeps, rows, err)
		}
	}
}

func TestNoCountIsLostBetweenProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "SIZES_TEST_WRITER="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	rows, err := Read(dir)
	if err != nil || len(rows) != 1 || rows[0].Calls != 100 || rows[0].MaxBytes != 24 {
		t.Errorf("%+v, %v; want 100 calls", rows, err)
	}
}

func TestNamesAreBounded(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxTools + 50 {
		a.Observe(called("x", fmt.Sprint("tool", i), 1))
	}
	for i := range maxServers + 50 {
		a.Observe(called(fmt.Sprint("server", i), strings.Repeat("é", 100), 1))
		if i%100 == 0 {
			if err := a.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := Read(dir)
	var calls int64
	servers := map[string]bool{}
	for _, r := range rows {
		calls += r.Calls
		servers[r.Server] = true
		if len(r.Tool) > maxName+3 {
			t.Errorf("a name of %d bytes", len(r.Tool))
		}
	}
	if err != nil || calls != maxTools+maxServers+100 || len(servers) > maxServers+1 {
		t.Errorf("%d calls, %d servers, %v", calls, len(servers), err)
	}
}

func TestADamagedFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, fileOf("x"))
	if err := os.WriteFile(file, []byte(`{"schema":1,"server":"x","tools":{"a":{"calls":-1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if rows, err := Read(dir); len(rows) != 0 || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, %v; want an error that names the file", rows, err)
	}
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(called("x", "a", 5))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := Read(dir)
	if err != nil || len(rows) != 1 || rows[0].Calls != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	if aside, _ := filepath.Glob(file + ".damaged-*"); len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}

// A directory that cannot be written to keeps the counts until it can.
func TestWhatCouldNotBeWrittenIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	a, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(called("x", "a", 5))
	if err := a.Flush(); err == nil {
		t.Error("a file in the place of the directory went unnoticed")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	a.Observe(called("x", "a", 6))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := Read(dir); err != nil || len(rows) != 1 || rows[0].Calls != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A call after a pause is written at once, and one that follows at once within the time that was asked for: a gateway may be
// killed as soon as the agent has its answer.
func TestCallsAreWrittenSoon(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, err := Open(dir, Options{Every: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for i, step := range []struct {
			wait time.Duration
			want int64
		}{{0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {time.Hour, 3}} {
			if i != 2 {
				a.Observe(called("x", "a", 5))
			}
			if i == 3 { // after an hour without calls
				synctest.Wait()
			}
			time.Sleep(step.wait)
			synctest.Wait()
			rows, err := Read(dir)
			if err != nil || len(rows) != 1 || rows[0].Calls != step.want {
				t.Errorf("step %d: %+v, %v; want %d calls", i, rows, err, step.want)
			}
		}
	})
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"schema":1,"server":"x","tools":{"a":{"calls":2,"upstream_bytes":9,"max_bytes":5,"steps":{"38":2}}}}`))
	f.Add([]byte(`{"schema":1,"server":"x","tools":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := document("").Decode(data)
		if err != nil {
			return
		}
		for tool, tl := range b.Tools {
			r := tl.row(b.Server, tool)
			if r.P95Bytes < 0 || r.P95Bytes > max(r.MaxBytes, 0) {
				t.Fatalf("%q: p95 %d of at most %d", data, r.P95Bytes, r.MaxBytes)
			}
		}
	})
}
