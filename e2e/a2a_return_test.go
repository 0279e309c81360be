//go:build linux || darwin

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Clients of A2A that write the protocol themselves, leave in the middle and come back with
// Last-Event-ID: over sockets, to the command itself.

// A stream that is cut behind each of its events is, put together, the stream that nobody cut.
func TestA2ACutAtEveryEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model, flags := newReciter(t, w)
	url, _ := w.agentServer(flags...)
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			w := *w
			w.t = t
			gate := model.hold()
			question, id := recite(12, 40), fmt.Sprint("cut", i)
			// One event for each connection, while the task runs: the next line is not said before.
			gate.allow(1)
			first := w.ask(url, b, id, question, "")
			pieces := []frame{first.must()}
			first.cut()
			task := pieces[0].task(t)
			for !strings.Contains(pieces[len(pieces)-1].data, `"plimsoll.outcome"`) {
				gate.allow(1)
				f := w.comeBack(url, b, task, pieces[len(pieces)-1].id)
				pieces = append(pieces, f.must())
				f.cut()
			}
			whole := w.comeBack(url, b, task, 0).all()
			if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(frame{})); diff != "" {
				t.Fatalf("cut at every event it is another stream (- whole, + pieces):\n%s", diff)
			}
			for i, e := range whole {
				if e.id != uint64(i+1) {
					t.Fatalf("event %d has the id %d", i+1, e.id)
				}
			}
			// Both ways back, from each place, behind the end of the task.
			for n := range len(whole) - 1 {
				for _, f := range []*flow{w.comeBack(url, b, task, uint64(n)), w.ask(url, b, id, question, fmt.Sprint(n))} {
					if rest := f.all(); !slices.Equal(rest, whole[n:]) {
						t.Errorf("back after event %d: %d events, want %d", n, len(rest), len(whole)-n)
					}
				}
			}
			if strings.HasSuffix(b.name, "1.0") {
				if k := tell(t, whole); k.text != verses(12, 40) || k.state != "TASK_STATE_COMPLETED" || k.snapshots != 1 {
					t.Errorf("the stream tells %+v", k)
				}
			}
			// What was never sent, and what is all there is, is nothing to go on with.
			for _, last := range []string{fmt.Sprint(len(whole)), fmt.Sprint(len(whole) + 1000), "18446744073709551616", "-1", "x"} {
				list := w.subscribe(url, b, task, last).all()
				if len(list) != 1 || list[0].refused() != -32004 && list[0].refused() != 400 {
					t.Errorf("back after event %s of an ended task: %+v", last, list)
				}
			}
			t.Logf("%d events, each the last of a connection", len(whole))
		})
	}
}

// The largest answer that an agent gives (256 KiB), of which a log of 1 MiB keeps two thirds.
const largeLines, largeLine = 13, 20_000

// An id from the future, and one of which the events are gone, give the task as it is, and
// then what is newer.
func TestA2ASnapshotForAnUnknownID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model, flags := newReciter(t, w)
	url, _ := w.agentServer(flags...)
	for i, b := range bindings[:2] {
		t.Run(b.name, func(t *testing.T) {
			w := *w
			w.t = t
			gate := model.hold()
			gate.allow(11)
			f := w.ask(url, b, fmt.Sprint("gone", i), recite(largeLines, largeLine), "")
			var early []frame
			for tell(t, early).text != verses(11, largeLine) {
				early = append(early, f.must())
			}
			f.cut()
			task := early[0].task(t)
			last := early[len(early)-1].id
			for _, from := range []string{"1", "1000000"} {
				back := w.subscribe(url, b, task, from)
				e := back.must()
				if k := tell(t, []frame{e}); k.snapshots != 1 || k.text != verses(11, largeLine) || e.id != last {
					t.Errorf("back after event %s: event %d, %d snapshots, %d bytes", from, e.id, k.snapshots, len(k.text))
				}
				back.cut()
			}
			back := w.comeBack(url, b, task, 1)
			late := []frame{back.must()}
			gate.open()
			late = append(late, back.all()...)
			if k := tell(t, late); k.text != verses(largeLines, largeLine) || k.state != "TASK_STATE_COMPLETED" {
				t.Errorf("with the snapshot first: %d bytes, want %d, %s", len(k.text), len(verses(largeLines, largeLine)), k.state)
			}
			ids := map[uint64]bool{}
			for _, e := range late {
				if ids[e.id] {
					t.Errorf("event %d comes twice", e.id)
				}
				ids[e.id] = true
			}
		})
	}
}

// A client that asks for some twenty megabytes and never reads is nobody else's trouble: not for
// those who read the same task, nor for others.
func TestA2AClientThatNeverReads(t *testing.T) {
	t.Parallel()
	long(t, "it waits for a client that never reads")
	w := newWorld(t)
	model, flags := newReciter(t, w)
	url, cmd := w.agentServer(flags...)
	whole := w.ask(url, bindings[0], "large", recite(largeLines, largeLine), "").all()
	task := whole[0].task(t)
	last := whole[len(whole)-9].id // what is newer is kept
	const times = 150
	stalled := never(t, url, bindings[0], task, last, times)

	gate := model.hold()
	gate.allow(1)
	first := w.ask(url, bindings[0], "shared", recite(largeLines, largeLine), "")
	shared := first.must().task(t)
	var others sync.WaitGroup
	for range 10 { // of one task
		f := w.comeBack(url, bindings[0], shared, 0)
		others.Go(func() {
			if k := tell(t, f.all()); k.text != verses(largeLines, largeLine) || k.state != "TASK_STATE_COMPLETED" {
				t.Errorf("beside it, of a task that several read: %d bytes, %s", len(k.text), k.state)
			}
		})
	}
	gate.open()
	for i := range 10 { // of their own, and of the one that it reads
		f := w.ask(url, bindings[i%2], fmt.Sprint("other", i), recite(largeLines, largeLine), "")
		same := w.comeBack(url, bindings[0], task, last)
		others.Go(func() {
			if k := tell(t, f.all()); k.text != verses(largeLines, largeLine) || k.state != "TASK_STATE_COMPLETED" {
				t.Errorf("beside it, of another task: %d bytes, %s", len(k.text), k.state)
			}
			if rest := same.all(); !slices.Equal(rest, whole[last:]) {
				t.Errorf("beside it, of its task: %d events, want %d", len(rest), len(whole[last:]))
			}
		})
	}
	done := make(chan struct{})
	go func() { others.Wait(); close(done) }()
	held := 0 // in the end it is cut off, and the kernel forgets
	for busy := true; busy; {
		held = max(held, kernelHolds(t, stalled))
		select {
		case <-done:
			busy = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	// It was held up indeed: what its answers are is more than all that lies in the kernel.
	all := 0
	for _, e := range whole[last:] {
		all += times * len(e.data)
	}
	if runtime.GOOS == "linux" && (held == 0 || held > all/2) {
		t.Errorf("%d bytes of %d are under way to the client that never reads: this test holds next to nothing", held, all)
	} else {
		t.Logf("%d bytes are under way to it, of %d; memory at most %s", held, all, resident(cmd.Process.Pid).Human())
	}
}

// never comes back to a task so many times, one after the other on one connection, and reads
// nothing of it.
func never(t *testing.T, url string, b binding, task string, last uint64, times int) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	path, body := b.subscribe(task, "")
	data, _ := json.Marshal(body)
	request := fmt.Sprintf("POST /a2a/argocd%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nA2A-Version: %s\r\nLast-Event-ID: %d\r\nContent-Length: %d\r\n\r\n%s",
		path, host, b.version, last, len(data), data)
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, strings.Repeat(request, times)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// kernelHolds is how many bytes lie between the two ends of a connection of this machine; 0
// where only Linux tells.
func kernelHolds(t *testing.T, conn net.Conn) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0
	}
	here := fmt.Sprintf("0100007F:%04X", conn.LocalAddr().(*net.TCPAddr).Port)
	there := fmt.Sprintf("0100007F:%04X", conn.RemoteAddr().(*net.TCPAddr).Port)
	for row := range strings.Lines(string(table)) {
		f := strings.Fields(row)
		if len(f) < 5 || (f[1] != here || f[2] != there) && (f[1] != there || f[2] != here) {
			continue
		}
		for queue := range strings.SplitSeq(f[4], ":") {
			bytes, err := strconv.ParseUint(queue, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			n += int(bytes)
		}
	}
	return n
}

// Fifty streams at once, each whole.
func TestA2AFiftyStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.variables = append(w.variables, simulated)
	url, _ := w.agentServer("--lab")
	want := tell(t, w.ask(url, bindings[0], "alone", "list all applications", "").all())
	if want.state != "TASK_STATE_COMPLETED" || !strings.Contains(want.text, "PAGE 1 of 819 items (41 pages)") {
		t.Fatalf("alone: %+v", want)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			list := w.ask(url, bindings[i%2], fmt.Sprint("at-once", i), "list all applications", "").all()
			if k := tell(t, list); k != want {
				t.Errorf("stream %d: %+v", i, k)
			}
			for at, e := range list {
				if e.id != uint64(at+1) {
					t.Errorf("stream %d: event %d has the id %d", i, at+1, e.id)
				}
			}
		})
	}
	all.Wait()
}

// While nobody reads, a task's events are one line in the log, and are counted to the last.
func TestA2ADisconnectIsOneLine(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 5_000} { // all of it is kept; a part is dropped
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			w := newWorld(t)
			model, flags := newReciter(t, w)
			url, events := w.agentEvents(flags...)
			n := min(600, 260_000/(size+10))
			gate := model.hold()
			gate.allow(3)
			f := w.ask(url, bindings[0], "left", recite(n, size), "")
			var seen []frame
			for tell(t, seen).text != verses(3, size) {
				seen = append(seen, f.must())
			}
			f.cut()
			task := seen[0].task(t)
			before := seen[len(seen)-1].id

			// That it has gone is seen by the server some time after; then every event counts.
			said := 3
			text := func() string {
				var s sent
				if code := rpc(t, url, "GetTask", map[string]any{"id": task}, &s.Task); code != 0 {
					t.Fatalf("GetTask: %d", code)
				}
				return s.text()
			}
			settled := func() bool { return len(text()) == len(verses(said, size)) }
			for len(events("agent.queue_closed")) == 0 {
				if said > n/3 {
					t.Fatalf("after %d lines that nobody reads there is no agent.queue_closed", said-3)
				}
				gate.allow(1)
				said++
				w.until("the line is in the task", settled)
			}
			more := min(45, n-said-1)
			gate.allow(more)
			said += more
			w.until("the lines are in the task", settled)

			back := w.subscribe(url, bindings[0], task, "")
			snapshot := back.must()
			if k := tell(t, []frame{snapshot}); k.snapshots != 1 || k.text != verses(said, size) {
				t.Errorf("back: %d snapshots, %d bytes", k.snapshots, len(k.text))
			}
			w.until("the return is told", func() bool { return len(events("agent.queue_reopened")) > 0 })
			closed, reopened := events("agent.queue_closed"), events("agent.queue_reopened")
			if len(closed) != 1 || len(reopened) != 1 {
				t.Fatalf("closed %d times, reopened %d times: %v %v", len(closed), len(reopened), closed, reopened)
			}
			number := func(e map[string]any, key string) uint64 { n, _ := e[key].(float64); return uint64(n) }
			from := number(closed[0], "seq")
			if from <= before || closed[0]["task"] != task || closed[0]["why"] != "unread" {
				t.Errorf("closed: %v", closed[0])
			}
			// What is kept can be read: the first number from which the events follow at once.
			kept := snapshot.id + 1
			for last := from - 1; last < snapshot.id; last++ {
				f := w.comeBack(url, bindings[0], task, last)
				e := f.must()
				f.cut()
				if e.id == last+1 && tell(t, []frame{e}).snapshots == 0 {
					kept = last + 1
					break
				}
			}
			missed, dropped := snapshot.id-from+1, kept-from
			if number(reopened[0], "missed") != missed || number(reopened[0], "dropped") != dropped {
				t.Errorf("reopened: %v, want %d missed, %d dropped", reopened[0], missed, dropped)
			}
			if size == 10 && (missed < 35 || dropped != 0) || size > 10 && dropped == 0 {
				t.Errorf("%d missed, %d dropped: this test holds next to nothing", missed, dropped)
			}
			gate.open()
			k := tell(t, append([]frame{snapshot}, back.all()...))
			if k.text != verses(n, size) || k.state != "TASK_STATE_COMPLETED" {
				t.Errorf("in the end: %d bytes, want %d, %s", len(k.text), len(verses(n, size)), k.state)
			}
			if closed := events("agent.queue_closed"); len(closed) != 1 {
				t.Errorf("closed again, although somebody read: %v", closed)
			}
			t.Logf("%d missed, %d dropped, one line", missed, dropped)
		})
	}
}
