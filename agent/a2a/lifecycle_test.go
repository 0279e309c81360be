package a2a

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

func TestEveryTaskEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		execute ExecutorFunc
		state   sdk.TaskState
		text    string
		outcome string
	}{
		"nothing said": {func(context.Context, *Exchange) error { return nil }, sdk.TaskStateCompleted, "", ""},
		"an error": {
			func(context.Context, *Exchange) error { return errors.New("no such thing") },
			sdk.TaskStateFailed, "no such thing", outcomeFailed,
		},
		"an error after work": {func(_ context.Context, x *Exchange) error {
			_ = x.Status(sdk.TaskStateWorking, "", nil)
			return errors.New("half way")
		}, sdk.TaskStateFailed, "half way", outcomeFailed},
		"a panic": {func(context.Context, *Exchange) error { panic("secret") }, sdk.TaskStateFailed, "broke down", outcomePanic},
		"a panic after work": {func(_ context.Context, x *Exchange) error {
			_ = number(x, 0)
			return errors.New(strings.Repeat("x", len(x.Message.Parts)-2)) // a negative count
		}, sdk.TaskStateFailed, "broke down", outcomePanic},
		"an event that is none": {func(_ context.Context, x *Exchange) error {
			return x.Emit(sdk.NewSubmittedTask(x, x.Message))
		}, sdk.TaskStateFailed, "is not emitted", outcomeFailed},
		"its own end and an error": {func(_ context.Context, x *Exchange) error {
			_ = x.Status(sdk.TaskStateRejected, "not me", nil)
			return errors.New("later")
		}, sdk.TaskStateRejected, "not me", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.execute)
			task := s.get(s.send("hello").ID)
			if task.Status.State != test.state {
				t.Errorf("the task ended as %s, not %s", task.Status.State, test.state)
			}
			text := ""
			if m := task.Status.Message; m != nil {
				text = m.Parts[0].Text()
			}
			if !strings.Contains(text, test.text) || strings.Contains(text, "secret") {
				t.Errorf("the task says %q, not %q", text, test.text)
			}
			if got, _ := task.Metadata[metadataOutcome].(string); got != test.outcome {
				t.Errorf("the outcome is %q, not %q", got, test.outcome)
			}
			if got := s.Stats().Ended[test.state]; got != 1 {
				t.Errorf("%d tasks are counted as ended so", got)
			}
		})
	}
}

func TestMessageInsteadOfATask(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, x *Exchange) error {
		if err := x.Emit(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart("hi"))); err != nil {
			return err
		}
		if err := x.Status(sdk.TaskStateWorking, "", nil); !errors.Is(err, ErrEnded) {
			t.Errorf("an event behind the message: %v", err)
		}
		return nil
	})
	var got sdk.StreamResponse
	if e := s.rpc("SendMessage", message("hello"), &got); e != nil {
		t.Fatal(e.Message)
	}
	if m, ok := got.Event.(*sdk.Message); !ok || m.Parts[0].Text() != "hi" {
		t.Fatalf("the answer is %#v", got.Event)
	}
	start := time.Now()
	all := s.stream("SendStreamingMessage", message("hello")).all()
	if time.Since(start) >= decideAfter {
		t.Skip("the executor was slower than the time it has for a message, after which there is a task")
	}
	if len(all) != 1 || all[0].id != 0 || all[0].event.(*sdk.Message).Parts[0].Text() != "hi" {
		t.Fatalf("the stream is %+v", all)
	}
	if n := s.Stats().Tasks; n != 0 {
		t.Errorf("%d tasks were made", n)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, polite := range map[string]bool{"an executor that stops": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			late := make(chan error, 1)
			s := serve(t, func(ctx context.Context, x *Exchange) error {
				if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
					return err
				}
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), ErrCancelled) {
					t.Errorf("the cause is %v", context.Cause(ctx))
				}
				if !polite {
					<-release
					late <- number(x, 0)
				}
				return ctx.Err()
			}, func(o *Options) {
				if !polite {
					o.Limits.CancelWait = 1
				}
			})
			f := s.stream("SendStreamingMessage", message("hello"))
			first, _ := f.next()
			id := first.event.(*sdk.Task).ID
			_, _ = f.next() // it works
			var task sdk.Task
			if e := s.rpc("CancelTask", map[string]any{"id": id}, &task); e != nil {
				t.Fatal(e.Message)
			}
			if task.Status.State != sdk.TaskStateCanceled {
				t.Errorf("the task is %s", task.Status.State)
			}
			all := f.all()
			if len(all) != 1 || all[0].event.(*sdk.TaskStatusUpdateEvent).Status.State != sdk.TaskStateCanceled {
				t.Errorf("the stream goes on with %+v", all)
			}
			if !polite {
				close(release)
				if err := <-late; !errors.Is(err, ErrEnded) {
					t.Errorf("an event after the end: %v", err)
				}
				if st := s.Stats(); st.Leaked != 1 || st.Late != 1 {
					t.Errorf("leaked %d, late %d", st.Leaked, st.Late)
				}
			}
			if e := s.rpc("CancelTask", map[string]any{"id": id}, nil); e == nil || e.Code != -32002 {
				t.Errorf("a second cancel gives %+v", e)
			}
			wait.Until(t, "the executor", func() bool { return s.Stats().Running == 0 })
		})
	}
}

func TestCloseFailsWhatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	block := make(chan struct{})
	defer close(block)
	begun := make(chan sdk.TaskID, 2)
	s := serve(t, func(ctx context.Context, x *Exchange) error {
		if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
			return err
		}
		begun <- x.TaskID
		if x.Message.Parts[0].Text() == "polite" {
			<-ctx.Done()
			return ctx.Err()
		}
		<-block
		return nil
	}, func(o *Options) { o.Dir = dir })
	a, b := s.stream("SendStreamingMessage", message("polite")), s.stream("SendStreamingMessage", message("rude"))
	ids := []sdk.TaskID{<-begun, <-begun}
	s.end()
	for _, f := range []*frames{a, b} {
		all := f.all()
		last, ok := all[len(all)-1].event.(*sdk.TaskStatusUpdateEvent)
		if !ok || last.Status.State != sdk.TaskStateFailed || last.Metadata[metadataOutcome] != outcomeShutdown {
			t.Errorf("the stream ends with %+v", all[len(all)-1])
		}
	}
	if e := s.rpc("SendMessage", message("late"), nil); e == nil || e.Code != -32000 {
		t.Errorf("a message to a closed server gives %+v", e)
	}
	again := serve(t, nil, func(o *Options) {
		o.Dir = dir
		o.Executor = ExecutorFunc(func(context.Context, *Exchange) error { return nil })
	})
	for _, id := range ids {
		if got := again.get(id); got.Status.State != sdk.TaskStateFailed {
			t.Errorf("task %s is %s after the restart", id, got.Status.State)
		}
	}
	if n := again.Stats().Recovered; n != 0 {
		t.Errorf("%d tasks are counted as cut off", n)
	}
}

func TestARestartFailsWhatRan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := New(Options{Name: "first", Dir: dir, Executor: ExecutorFunc(func(context.Context, *Exchange) error { return nil })})
	if err != nil {
		t.Fatal(err)
	}
	// A process that is killed leaves its tasks in the store as they were.
	x := &Exchange{TaskID: "t1", ContextID: "c", Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("hi"))}
	ran, _, err := first.create(&run{s: first, x: x})
	if err != nil {
		t.Fatal(err)
	}
	if err := ran.publish(statusEvent(ran, sdk.TaskStateWorking, "", nil)); err != nil {
		t.Fatal(err)
	}
	x2 := &Exchange{TaskID: "t2", ContextID: "c", Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("hi"))}
	waits, _, err := first.create(&run{s: first, x: x2})
	if err != nil {
		t.Fatal(err)
	}
	if err := waits.publish(statusEvent(waits, sdk.TaskStateInputRequired, "which?", nil)); err != nil {
		t.Fatal(err)
	}
	if err := first.store.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(_ context.Context, x *Exchange) error {
		if x.Task == nil || len(x.Task.History) != 3 {
			t.Errorf("the task that is gone on with is %+v", x.Task)
		}
		return nil
	}, func(o *Options) { o.Dir = dir })
	got := s.get("t1")
	if got.Status.State != sdk.TaskStateFailed || got.Metadata[metadataOutcome] != outcomeRestart {
		t.Errorf("the task that ran is %s, %v", got.Status.State, got.Metadata)
	}
	if s.Stats().Recovered != 1 {
		t.Errorf("%d tasks are counted as cut off", s.Stats().Recovered)
	}
	// What waited for the client still does.
	done := s.send("this one", func(m *sdk.Message) { m.TaskID = "t2" })
	if done.ID != "t2" || done.Status.State != sdk.TaskStateCompleted {
		t.Errorf("task %s is %s", done.ID, done.Status.State)
	}
}

// A process that is killed leaves its directory as it is at that moment.
func TestWhatWasStreamedSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir, killed := t.TempDir(), t.TempDir()
	let := make(chan struct{}, 4)
	s := serve(t, counting(5, let), func(o *Options) { o.Dir = dir })
	f := s.stream("SendStreamingMessage", message("count"))
	first, _ := f.next()
	id := first.event.(*sdk.Task).ID
	for range 4 {
		let <- struct{}{}
	}
	stored := func() string {
		_, rec, err := s.Server.readStored(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return textOf(rec.Task)
	}
	wait.Until(t, "what was streamed in the store", func() bool { return stored() == "0 1 2 3 " })
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	again := serve(t, counting(0, nil), func(o *Options) { o.Dir = killed })
	got := again.get(id)
	if got.Status.State != sdk.TaskStateFailed || got.Metadata[metadataOutcome] != outcomeRestart || textOf(got) != "0 1 2 3 " {
		t.Errorf("after the restart the task is %s, %v, with %q", got.Status.State, got.Metadata, textOf(got))
	}
}

// However many pieces there are, a task is not written more often than may be.
func TestStreamingWritesWithinItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Name: "rate", Executor: ExecutorFunc(func(context.Context, *Exchange) error { return nil })})
		if err != nil {
			t.Fatal(err)
		}
		x := &Exchange{TaskID: "t1", ContextID: "c", Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("hi"))}
		ran, _, err := s.create(&run{s: s, x: x})
		if err != nil {
			t.Fatal(err)
		}
		writes, last := 0, ran.nextSave
		text := strings.Repeat("x", 1<<10)
		for range 1000 { // 100 pieces a second for ten seconds, which come to 1 MiB
			e := sdk.NewArtifactEvent(ran, sdk.NewTextPart(text))
			e.Artifact.ID, e.Append = "a", true
			if err := ran.publish(e); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
			ran.writing.Lock()
			if ran.nextSave != last { // set by each write
				writes, last = writes+1, ran.nextSave
			}
			ran.writing.Unlock()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if writes < 5 || writes > 11 {
			t.Errorf("the task was written %d times in ten seconds", writes)
		}
		if _, rec, err := s.readStored(t.Context(), "t1"); err != nil || len(textOf(rec.Task)) != 1000<<10 {
			t.Errorf("%v: in the end %d bytes are kept", err, len(textOf(rec.Task)))
		}
		ran.end(sdk.TaskStateCompleted, "", nil)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAMessageGoesOnWithATask(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, x *Exchange) error {
		if x.Message.Parts[0].Text() == "begin" {
			return x.Status(sdk.TaskStateInputRequired, "how many?", nil)
		}
		return x.Status(sdk.TaskStateCompleted, "thanks", nil)
	})
	task := s.send("begin")
	if task.Status.State != sdk.TaskStateInputRequired {
		t.Fatalf("the task is %s", task.Status.State)
	}
	sub := s.stream("SubscribeToTask", map[string]any{"id": task.ID})
	if first, _ := sub.next(); first.event.(*sdk.Task).Status.State != sdk.TaskStateInputRequired {
		t.Errorf("the subscription begins with %+v", first)
	}
	wrong := message("two", func(m *sdk.Message) { m.TaskID, m.ContextID = task.ID, "other" })
	if e := s.rpc("SendMessage", wrong, nil); e == nil || e.Code != -32602 {
		t.Errorf("another context gives %+v", e)
	}
	done := s.send("two", func(m *sdk.Message) { m.TaskID = task.ID })
	if done.ContextID != task.ContextID || done.Status.State != sdk.TaskStateCompleted {
		t.Errorf("the task is %s of %s", done.Status.State, done.ContextID)
	}
	var said []string
	for _, m := range done.History {
		said = append(said, m.Parts[0].Text())
	}
	if got := strings.Join(said, "|"); got != "begin|how many?|two" {
		t.Errorf("the history is %q", got)
	}
	if rest := sub.all(); len(rest) != 1 || rest[0].event.(*sdk.TaskStatusUpdateEvent).Status.State != sdk.TaskStateCompleted {
		t.Errorf("the subscription goes on with %+v", rest)
	}
	if e := s.rpc("SendMessage", message("more", func(m *sdk.Message) { m.TaskID = task.ID }), nil); e == nil || e.Code != -32004 {
		t.Errorf("a message to an ended task gives %+v", e)
	}
}

func TestBoundsOfTasks(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, func(_ context.Context, x *Exchange) error {
		switch x.Message.Parts[0].Text() {
		case "wait":
			if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
				return err
			}
			<-release
			return nil
		case "one event":
			return x.Status(sdk.TaskStateWorking, strings.Repeat("x", 5000), nil)
		default:
			for {
				e := sdk.NewArtifactEvent(x, sdk.NewTextPart(strings.Repeat("x", 3000)))
				if err := x.Emit(e); err != nil {
					return err
				}
			}
		}
	}, func(o *Options) { o.Limits.MaxRunning, o.Limits.MaxEvent, o.Limits.MaxTask = 1, 4096, 16<<10 })
	for _, text := range []string{"one event", "many"} {
		task := s.send(text)
		if task.Status.State != sdk.TaskStateFailed || !strings.Contains(task.Status.Message.Parts[0].Text(), "too large") {
			t.Errorf("%s: the task is %+v", text, task.Status)
		}
	}
	var got sdk.StreamResponse
	now := message("wait")
	now["configuration"] = map[string]any{"returnImmediately": true}
	if e := s.rpc("SendMessage", now, &got); e != nil {
		t.Fatal(e.Message)
	}
	if e := s.rpc("SendMessage", message("wait"), nil); e == nil || e.Code != -32000 {
		t.Errorf("one task too many gives %+v", e)
	}
	resp := s.request(http.MethodPost, "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"wait"}]}}`)
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("with REST it gives %d", resp.StatusCode)
	}
	close(release)
	id := got.Event.(*sdk.Task).ID
	wait.Until(t, "the task", func() bool { return s.get(id).Status.State == sdk.TaskStateCompleted })
}

// An executor that has said nothing, and does not return, keeps nobody waiting.
func TestCloseAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	s := serve(t, func(context.Context, *Exchange) error {
		<-block
		return nil
	})
	answered := make(chan sdk.Event, 1)
	go func() {
		var got sdk.StreamResponse
		if e := s.rpc("SendMessage", message("hello"), &got); e != nil {
			t.Errorf("SendMessage gives %+v", e)
		}
		answered <- got.Event
	}()
	wait.Until(t, "the executor", func() bool { return s.Stats().Running == 1 })
	s.end()
	task, ok := (<-answered).(*sdk.Task)
	if !ok || task.Status.State != sdk.TaskStateFailed || task.Metadata[metadataOutcome] != outcomeShutdown {
		t.Errorf("the answer is %+v", task)
	}
	if n := s.Stats().Leaked; n != 1 {
		t.Errorf("%d executors are counted as left behind", n)
	}
}
