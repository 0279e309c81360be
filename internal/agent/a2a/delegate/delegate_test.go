package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
)

// answers emits an artifact in pieces.
func answers(x *a2a.Exchange, pieces ...string) error {
	id := sdk.NewArtifactID()
	for i, text := range pieces {
		e := sdk.NewArtifactUpdateEvent(x.TaskInfo(), id, sdk.NewTextPart(text))
		e.Append = i > 0
		if err := x.Emit(e); err != nil {
			return err
		}
	}
	return nil
}

func TestTheSkillsOfAnAgentAreTools(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := ""
	o := served(t, func(_ context.Context, x *a2a.Exchange) error {
		for _, text := range []string{"opening the book", "turning pages"} {
			var err error
			wait.Reached(wait.Bound, func() bool { // told four times a second, what comes between is left out: so it says it again
				err = x.Status(sdk.TaskStateWorking, text, nil)
				mu.Lock()
				defer mu.Unlock()
				return err != nil || strings.Contains(told, text)
			})
			if err != nil {
				return err
			}
		}
		return answers(x, "A hull ", "is the body ", "of a ship.")
	}, nil)
	box := boxOf(t, agentAt(t, o.http.URL), gateway.Settings{})
	specs, err := box.List(t.Context())
	if err != nil || len(specs) < 2 || specs[0].Name != "helper__look_up" || specs[1].Name != "helper__write" {
		t.Fatalf("%+v, %v", specs, err)
	}
	if d := specs[0].Description; !strings.Contains(d, "Looks things up.") || !strings.Contains(d, "What is a hull?") || !strings.Contains(d, "not this conversation") {
		t.Errorf("the description is %q", d)
	}
	out := call(t, t.Context(), box, `{"message":"What is a hull?"}`, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told += text
	})
	if out.Failed || out.Text != "A hull is the body of a ship." {
		t.Errorf("%+v", out)
	}
	if m := o.seen.Load(); m.Parts[0].Text() != "What is a hull?" || m.Metadata[a2a.MetadataHops] != 1.0 {
		t.Errorf("the agent was sent %+v", m)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(told, "helper: opening the book") || !strings.Contains(told, "helper: turning pages") {
		t.Errorf("the progress is %q", told)
	}
	if out := call(t, t.Context(), box, `{"message":" "}`, nil); !out.Failed || !strings.Contains(out.Text, "message is empty") {
		t.Errorf("%+v", out)
	}
}

func TestALargeArtifactIsPagedAndAReplacedOneForgotten(t *testing.T) {
	t.Parallel()
	const lines = 40_000
	o := served(t, func(_ context.Context, x *a2a.Exchange) error {
		id := sdk.NewArtifactID()
		for i := range 40 {
			var b strings.Builder
			for j := range lines / 40 {
				fmt.Fprintf(&b, "line %d of many, and some words beside its number\n", i*lines/40+j)
			}
			e := sdk.NewArtifactUpdateEvent(x.TaskInfo(), id, sdk.NewTextPart(b.String()))
			e.Append = i > 1 // the second replaces the first
			if err := x.Emit(e); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	a := agentAt(t, o.http.URL)
	box := boxOf(t, a, gateway.Settings{})
	out := call(t, t.Context(), box, `{"message":"all"}`, nil)
	if out.Failed || len(out.Text) > 16<<10 || !strings.HasPrefix(out.Text, "line 1000 of many") || !strings.Contains(out.Text, `"handle":"r_`) {
		t.Fatalf("%.300s … %s", out.Text, out.Text[max(0, len(out.Text)-500):])
	}
	_, rest, _ := strings.Cut(out.Text, `"handle":"`)
	handle, _, _ := strings.Cut(rest, `"`)
	found, err := box.Call(t.Context(), agent.Call{Name: "result_search", Arguments: fmt.Sprintf(`{"handle":%q,"pattern":"line 39999 "}`, handle)}, func(string) {})
	if err != nil || found.Failed || !strings.Contains(found.Text, "line 39999 of many") {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestATaskThatFailsIsAFailedResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		execute func(_ context.Context, x *a2a.Exchange) error
		want    string
	}{
		"error": {func(_ context.Context, x *a2a.Exchange) error {
			if err := answers(x, "half of it"); err != nil {
				return err
			}
			return errors.New("the book is lost")
		}, "ended as failed: the book is lost\nWhat it had by then:\n\nhalf of it"},
		"panic": {func(context.Context, *a2a.Exchange) error { panic("a mistake") }, "ended as failed"},
		"rejected": {func(_ context.Context, x *a2a.Exchange) error {
			return x.Status(sdk.TaskStateRejected, "not today", nil)
		}, "ended as rejected: not today"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := served(t, c.execute, nil)
			out := call(t, t.Context(), boxOf(t, agentAt(t, o.http.URL), gateway.Settings{}), `{"message":"go"}`, nil)
			if !out.Failed || !strings.Contains(out.Text, c.want) {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestATaskThatWaitsSaysSoAndGoesOn(t *testing.T) {
	t.Parallel()
	o := served(t, func(_ context.Context, x *a2a.Exchange) error {
		switch text := x.Message.Parts[0].Text(); {
		case text == "pick":
			return x.Status(sdk.TaskStateInputRequired, "Which of the two?", nil)
		case x.Task == nil:
			return answers(x, "new: "+text)
		default:
			return answers(x, "went on: "+text)
		}
	}, nil)
	a := agentAt(t, o.http.URL)
	box := boxOf(t, a, gateway.Settings{})
	out := call(t, t.Context(), box, `{"message":"pick"}`, nil)
	if out.Failed || !strings.Contains(out.Text, "not done: helper waits for an answer: Which of the two?") || !strings.Contains(out.Text, "call helper__look_up with the answer") {
		t.Fatalf("%+v", out)
	}
	// The next message of the session is the answer, and the one behind it is a new task again.
	if out := call(t, t.Context(), box, `{"message":"the first"}`, nil); out.Text != "went on: the first" {
		t.Errorf("%+v", out)
	}
	if out := call(t, t.Context(), box, `{"message":"more"}`, nil); out.Text != "new: more" {
		t.Errorf("%+v", out)
	}
	// A client without a session names the task.
	out = call(t, t.Context(), box, `{"message":"pick"}`, nil)
	_, rest, _ := strings.Cut(out.Text, `and task "`)
	task, _, _ := strings.Cut(rest, `"`)
	stranger := boxOf(t, a, gateway.Settings{})
	if out := call(t, t.Context(), stranger, fmt.Sprintf(`{"message":"the second","task":%q}`, task), nil); out.Text != "went on: the second" {
		t.Errorf("%+v", out)
	}
	// It has ended meanwhile: what is said to it without knowing is a new task.
	if out := call(t, t.Context(), box, `{"message":"and now"}`, nil); out.Text != "new: and now" {
		t.Errorf("%+v", out)
	}
	if out := call(t, t.Context(), box, fmt.Sprintf(`{"message":"again","task":%q}`, task), nil); !out.Failed {
		t.Errorf("a task that ended was taken up: %+v", out)
	}
}

func TestTimeOutsAndCancellationsCancelTheTask(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 4)
	o := served(t, func(ctx context.Context, x *a2a.Exchange) error {
		if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
			return err
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}, nil)
	a := agentAt(t, o.http.URL)
	box := boxOf(t, a, gateway.Settings{Limits: gateway.Limits{Timeout: time.Second}})
	if out := call(t, t.Context(), box, `{"message":"hang"}`, nil); !out.Failed {
		t.Errorf("%+v", out)
	}
	if cause := <-ended; !errors.Is(cause, a2a.ErrCancelled) {
		t.Errorf("the task ended by %v", cause)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := boxOf(t, a, gateway.Settings{}).Call(ctx, agent.Call{Name: "helper__look_up", Arguments: `{"message":"hang"}`}, func(string) {})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if cause := <-ended; !errors.Is(cause, a2a.ErrCancelled) {
		t.Errorf("the task ended by %v", cause)
	}
}

// cutter breaks each stream off behind a number of bytes.
func cutter(after int, streams *atomic.Int64, methods *sync.Map) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept") != "text/event-stream" {
				h.ServeHTTP(w, r)
				return
			}
			streams.Add(1)
			body, _ := readAgain(r)
			var m struct{ Method string }
			_ = json.Unmarshal(body, &m)
			methods.Store(m.Method, true)
			h.ServeHTTP(&cutWriter{ResponseWriter: w, left: after}, r)
		})
	}
}

func TestALostStreamIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	var streams atomic.Int64
	var methods sync.Map
	o := served(t, func(_ context.Context, x *a2a.Exchange) error {
		id := sdk.NewArtifactID()
		for i := range 30 {
			e := sdk.NewArtifactUpdateEvent(x.TaskInfo(), id, sdk.NewTextPart(fmt.Sprintf("piece %d;", i)))
			e.Append = i > 0
			if err := x.Emit(e); err != nil {
				return err
			}
			if i == 15 { // the first stream was cut off long before: the client comes back while the task goes on
				wait.Reached(wait.Bound, func() bool { return streams.Load() > 1 })
			}
		}
		return nil
	}, cutter(1500, &streams, &methods))
	out := call(t, t.Context(), boxOf(t, agentAt(t, o.http.URL), gateway.Settings{}), `{"message":"go"}`, nil)
	var want strings.Builder
	for i := range 30 {
		fmt.Fprintf(&want, "piece %d;", i)
	}
	if out.Failed || out.Text != want.String() {
		t.Errorf("%+v", out)
	}
	if _, ok := methods.Load("SubscribeToTask"); !ok || streams.Load() < 2 {
		t.Errorf("%d streams, SubscribeToTask %v", streams.Load(), ok)
	}
}

func TestAnAgentThatIsKilledIsGivenUp(t *testing.T) {
	t.Parallel()
	working := make(chan struct{})
	o := served(t, func(ctx context.Context, x *a2a.Exchange) error {
		if err := x.Status(sdk.TaskStateWorking, "reading", nil); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	box := boxOf(t, agentAt(t, o.http.URL), gateway.Settings{})
	go func() {
		<-working
		_ = o.http.Listener.Close()
		o.http.CloseClientConnections()
	}()
	var once sync.Once
	begun := time.Now()
	out := call(t, t.Context(), box, `{"message":"go"}`, func(text string) {
		if strings.Contains(text, "reading") { // the client knows of the task
			once.Do(func() { close(working) })
		}
	})
	if !out.Failed || !strings.Contains(out.Text, "was lost, and it was not reached again") || time.Since(begun) > 20*time.Second {
		t.Errorf("after %v: %+v", time.Since(begun), out)
	}
	if out := call(t, t.Context(), box, `{"message":"go"}`, nil); !out.Failed || !strings.Contains(out.Text, "the agent helper: ") {
		t.Errorf("%+v", out)
	}
}
