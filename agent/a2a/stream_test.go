package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// counting emits numbers as it is let.
func counting(numbers int, let <-chan struct{}) ExecutorFunc {
	return func(ctx context.Context, x *Exchange) error {
		if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
			return err
		}
		for n := range numbers {
			select {
			case <-let:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := number(x, n); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestStreamHasPositions(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	close(let)
	s := serve(t, counting(5, let))
	for name, f := range map[string]func() *frames{
		"JSON-RPC": func() *frames { return s.stream("SendStreamingMessage", message("count")) },
		"REST": func() *frames {
			return read(t, s.request(http.MethodPost, "/message:stream",
				`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"count"}]}}`))
		},
	} {
		all := f().all()
		if len(all) != 8 { // the task, that it works, five numbers, the end
			t.Fatalf("%s: %d events: %+v", name, len(all), all)
		}
		for i, f := range all {
			if f.id != uint64(i+1) {
				t.Errorf("%s: event %d has the id %d", name, i, f.id)
			}
		}
		task, ok := all[0].event.(*sdk.Task)
		if !ok || task.Status.State != sdk.TaskStateSubmitted {
			t.Errorf("%s: the stream begins with %+v", name, all[0].event)
		}
		if last, ok := all[7].event.(*sdk.TaskStatusUpdateEvent); !ok || last.Status.State != sdk.TaskStateCompleted {
			t.Errorf("%s: the stream ends with %+v", name, all[7].event)
		}
	}
}

// A client that breaks off after any event and comes back with Last-Event-ID has every
// event once, on both bindings.
func TestLastEventIDLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const numbers = 40
	for _, rest := range []bool{false, true} {
		let := make(chan struct{}, numbers)
		s := serve(t, counting(numbers, let))
		f := s.stream("SendStreamingMessage", message("count"))
		first, _ := f.next()
		id := first.event.(*sdk.Task).ID
		last := first.id
		var seen strings.Builder
		for n := 0; ; n++ {
			if n < numbers {
				let <- struct{}{}
			}
			if n%3 == 0 { // it goes, more happens, it comes back
				_ = f.body.Close()
				if n+1 < numbers {
					let <- struct{}{}
					n++
				}
				header := []string{"Last-Event-ID", strconv.FormatUint(last, 10)}
				if rest {
					f = read(t, s.request(http.MethodPost, "/tasks/"+string(id)+":subscribe", "", header...))
				} else {
					f = s.stream("SubscribeToTask", map[string]any{"id": id}, header...)
				}
			}
			got, ok := f.next()
			if !ok {
				break
			}
			if got.id != last+1 {
				t.Fatalf("event %d comes behind %d", got.id, last)
			}
			last = got.id
			if e, ok := got.event.(*sdk.TaskArtifactUpdateEvent); ok {
				seen.WriteString(e.Artifact.Parts[0].Text())
			}
			if e, ok := got.event.(*sdk.TaskStatusUpdateEvent); ok && e.Status.State.Terminal() {
				break
			}
		}
		var want strings.Builder
		for n := range numbers {
			fmt.Fprintf(&want, "%d ", n)
		}
		if seen.String() != want.String() {
			t.Errorf("it saw %q", seen.String())
		}
		if got := textOf(s.get(id)); got != want.String() {
			t.Errorf("the task has %q", got)
		}
	}
}

func TestSubscribeShowsTheTaskAndThenWhatIsNew(t *testing.T) {
	t.Parallel()
	const numbers = 10
	let := make(chan struct{}, numbers)
	s := serve(t, counting(numbers, let))
	f := s.stream("SendStreamingMessage", message("count"))
	first, _ := f.next()
	id := first.event.(*sdk.Task).ID
	_, _ = f.next() // it works
	for range 4 {
		let <- struct{}{}
		_, _ = f.next()
	}
	one := s.stream("SubscribeToTask", map[string]any{"id": id})
	two := read(t, s.request(http.MethodPost, "/tasks/"+string(id)+":subscribe", ""))
	shown, _ := one.next()
	task, ok := shown.event.(*sdk.Task)
	if !ok || textOf(task) != "0 1 2 3 " || shown.id != 6 {
		t.Fatalf("the subscription begins with %d %+v", shown.id, shown.event)
	}
	_, _ = two.next()
	_ = f.body.Close() // that one goes does not concern the others
	for range numbers - 4 {
		let <- struct{}{}
	}
	a, b := one.all(), two.all()
	for _, all := range [][]frame{a, b} {
		var text strings.Builder
		text.WriteString(textOf(task))
		for i, f := range all {
			if f.id != shown.id+uint64(i)+1 {
				t.Errorf("event %d has the id %d", i, f.id)
			}
			if e, ok := f.event.(*sdk.TaskArtifactUpdateEvent); ok {
				text.WriteString(e.Artifact.Parts[0].Text())
			}
		}
		if text.String() != "0 1 2 3 4 5 6 7 8 9 " {
			t.Errorf("together it is %q", text.String())
		}
	}

	// The task has ended.
	header := func(last uint64) []string { return []string{"Last-Event-ID", strconv.FormatUint(last, 10)} }
	if e := s.rpc("SubscribeToTask", map[string]any{"id": id}, nil); e == nil || e.Code != -32004 {
		t.Errorf("a subscription gives %+v", e)
	}
	end := a[len(a)-1].id
	if e := s.rpc("SubscribeToTask", map[string]any{"id": id}, nil, header(end)...); e == nil || e.Code != -32004 {
		t.Errorf("a subscription that has everything gives %+v", e)
	}
	rest := s.stream("SubscribeToTask", map[string]any{"id": id}, header(end-2)...).all()
	if len(rest) != 2 || rest[1].id != end {
		t.Errorf("the rest is %+v", rest)
	}
	resp := s.request(http.MethodPost, "/tasks/"+string(id)+":subscribe", "")
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("with REST a subscription gives %d", resp.StatusCode)
	}
	if resp := s.request(http.MethodPost, "/tasks/none:subscribe", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown task gives %d", resp.StatusCode)
	}
}

// The Go SDK's client takes only status 200 and only events, those for JavaScript and Python lose the code of another status.
func TestErrorsOfStreamsAreEventsWithStatus200(t *testing.T) {
	t.Parallel()
	s := serve(t, counting(0, nil))
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"an unknown task":      {call("SubscribeToTask", map[string]any{"id": "none"}), -32001},
		"no message":           {call("SendStreamingMessage", map[string]any{}), -32602},
		"an unknown method":    {call("StreamNothing", map[string]any{}), -32601},
		"not even JSON":        {"hello", -32700},
		"a message to no task": {call("SendStreamingMessage", message("x", func(m *sdk.Message) { m.TaskID = "none" })), -32001},
	} {
		// The JavaScript SDK's makes typed errors of answers alone.
		fetched := s.request(http.MethodPost, "/", c.body, "Accept", "text/event-stream", "Sec-Fetch-Mode", "cors")
		var said struct{ Error struct{ Code int } }
		if err := json.NewDecoder(fetched.Body).Decode(&said); err != nil || said.Error.Code != c.code || fetched.StatusCode != http.StatusOK || fetched.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, by fetch: status %d, %s, %v %+v", name, fetched.StatusCode, fetched.Header.Get("Content-Type"), err, said)
		}
		resp := s.request(http.MethodPost, "/", c.body, "Accept", "text/event-stream")
		text, err := io.ReadAll(resp.Body)
		data, ok := strings.CutPrefix(string(text), "data: ")
		var answer struct{ Error struct{ Code int } }
		if err != nil || !ok && resp.Header.Get("Content-Type") != "application/json" || json.Unmarshal([]byte(data), &answer) != nil || answer.Error.Code != c.code || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, %s, %s", name, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
		if !ok && name != "an unknown method" { // which may be of any kind
			t.Errorf("%s is no event: %s", name, text)
		}
	}
}

// What is not kept any more is told by a snapshot, once.
func TestGapIsASnapshot(t *testing.T) {
	t.Parallel()
	const numbers = 200
	let := make(chan struct{}, numbers)
	s := serve(t, counting(numbers, let), func(o *Options) { o.Limits.MaxLog = 4 << 10 })
	f := s.stream("SendStreamingMessage", message("count"))
	first, _ := f.next()
	id := first.event.(*sdk.Task).ID
	_ = f.body.Close()
	for range numbers - 1 {
		let <- struct{}{}
	}
	wait.Until(t, "the numbers", func() bool { return strings.HasSuffix(textOf(s.get(id)), fmt.Sprintf(" %d ", numbers-2)) })
	for name, last := range map[string]string{"an old position": "3", "one of another life": "999999999"} {
		f := s.stream("SubscribeToTask", map[string]any{"id": id}, "Last-Event-ID", last)
		got, _ := f.next()
		task, ok := got.event.(*sdk.Task)
		if !ok || !strings.HasPrefix(textOf(task), "0 1 2 ") || got.id != numbers+1 {
			t.Fatalf("%s: the stream begins with %d %+v", name, got.id, got.event)
		}
		defer func() {
			rest := f.all()
			if len(rest) != 2 || rest[0].id != numbers+2 {
				t.Errorf("%s: the stream goes on with %+v", name, rest)
			}
		}()
	}
	let <- struct{}{}
}

// A library for event streams makes the same request again, with Last-Event-ID.
func TestTheSameMessageAgainGoesOn(t *testing.T) {
	t.Parallel()
	let := make(chan struct{}, 3)
	s := serve(t, counting(3, let))
	said := message("count")
	f := s.stream("SendStreamingMessage", said)
	first, _ := f.next()
	let <- struct{}{}
	_, _ = f.next()
	_, _ = f.next()
	_ = f.body.Close()
	f = s.stream("SendStreamingMessage", said, "Last-Event-ID", strconv.FormatUint(first.id, 10))
	let <- struct{}{}
	let <- struct{}{}
	all := f.all()
	if len(all) != 5 || all[0].id != first.id+1 {
		t.Errorf("it goes on with %+v", all)
	}
	if n := s.Stats().Tasks; n != 1 {
		t.Errorf("%d tasks were made", n)
	}
}

func TestBoundsOfStreams(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	s := serve(t, func(_ context.Context, x *Exchange) error {
		<-block
		return errors.New("over")
	}, func(o *Options) { o.Limits.MaxSubscribers, o.Limits.MaxStreams = 2, 3 })
	defer close(block)
	now := message("wait")
	now["configuration"] = map[string]any{"returnImmediately": true}
	var got sdk.StreamResponse
	if e := s.rpc("SendMessage", now, &got); e != nil {
		t.Fatal(e.Message)
	}
	id := map[string]any{"id": got.Event.(*sdk.Task).ID}
	for range 2 {
		f := s.stream("SubscribeToTask", id)
		_, _ = f.next()
	}
	if e := s.rpc("SubscribeToTask", id, nil); e == nil || e.Code != -32000 || !strings.Contains(e.Message, "too many clients") {
		t.Errorf("one more of the task gives %+v", e)
	}
	if e := s.rpc("SendMessage", now, &got); e != nil {
		t.Fatal(e.Message)
	}
	other := map[string]any{"id": got.Event.(*sdk.Task).ID}
	f := s.stream("SubscribeToTask", other)
	_, _ = f.next()
	if e := s.rpc("SubscribeToTask", other, nil); e == nil || e.Code != -32000 || !strings.Contains(e.Message, "streams are open") {
		t.Errorf("one more of all gives %+v", e)
	}
}

// What happens while all clients are gone is one line, and a count when one is back.
func TestADisconnectIsOneLine(t *testing.T) {
	t.Parallel()
	const numbers = 40
	let := make(chan struct{}, numbers)
	j := journal.New(journal.Options{})
	s := serve(t, counting(numbers, let), func(o *Options) { o.Journal = j })
	f := s.stream("SendStreamingMessage", message("count"))
	first, _ := f.next()
	_, _ = f.next() // it works
	id := first.event.(*sdk.Task).ID
	_ = f.body.Close()
	wait.Until(t, "the server to notice", func() bool { return s.Stats().Logs.Readers == 0 })
	for range numbers - 1 {
		let <- struct{}{}
	}
	wait.Until(t, "the numbers", func() bool { return strings.HasSuffix(textOf(s.get(id)), fmt.Sprintf(" %d ", numbers-2)) })
	back := s.stream("SubscribeToTask", map[string]any{"id": id}, "Last-Event-ID", "2")
	let <- struct{}{}
	if all := back.all(); len(all) != numbers+1 {
		t.Errorf("it had %d events when it was back", len(all))
	}
	closed, reopened := 0, journal.AgentQueueReopened{}
	for r := range j.Since(0) {
		switch e := r.Event.(type) {
		case journal.AgentQueueClosed:
			closed++
		case journal.AgentQueueReopened:
			reopened = e
		}
	}
	if closed != 1 || reopened.Missed != numbers-1 || reopened.Dropped != 0 {
		t.Errorf("%d lines, %d missed, %d dropped", closed, reopened.Missed, reopened.Dropped)
	}
}
