package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/notify"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// kept is a way that keeps what it was given.
type kept struct {
	mu   sync.Mutex
	list []notify.Notice
	send func(context.Context) error

	looks atomic.Int64 // of a watcher that tells this
}

func (k *kept) Send(ctx context.Context, n notify.Notice) error {
	k.mu.Lock()
	k.list = append(k.list, n)
	k.mu.Unlock()
	if k.send != nil {
		return k.send(ctx)
	}
	return nil
}
func (k *kept) Check() error   { return nil }
func (k *kept) String() string { return "kept" }

// told are the causes and the texts so far.
func (k *kept) told() (causes []notify.Cause, texts string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range k.list {
		causes = append(causes, n.Cause)
		texts += n.Text + "\n"
	}
	return causes, texts
}

// step is an event of a run, after a pause; none is the pause alone.
type step struct {
	after time.Duration
	event journal.Event
}

// played is what is told of a run of claude in the project shop.
func played(t *testing.T, steps ...step) (causes []notify.Cause, texts string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		way := &kept{}
		own := notify.NewOwn(notify.NewSender(way, notify.SenderOptions{Environ: []string{"SHOP_TOKEN=correct-horse-battery"}}),
			runs.Header{ID: "w2vh6evefcly", Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop", LimitBytes: 4 << 30}})
		j := journal.New(journal.Options{Observers: []journal.Observer{own}})
		for _, s := range steps {
			time.Sleep(s.after)
			if s.event != nil {
				j.Append(s.event)
			}
		}
		own.Close(time.Second)
		j.Append(journal.RunEnded{Outcome: journal.OutcomeOOM}) // too late
		causes, texts = way.told()
	})
	return causes, texts
}

func TestWhatIsToldOfARunOnce(t *testing.T) {
	started := step{0, journal.RunStarted{PID: 7, LimitBytes: 4 << 30}}
	waits := step{0, journal.Waiting{Position: 2, Reason: "memory"}}
	child := step{0, journal.ChildKilled{PID: 9, Name: "je\x1b[2Jst", Bytes: 300 << 20, By: "kernel"}}
	counted := step{0, journal.OOMKills{New: 1, Total: 1}}
	ended := func(o journal.Outcome, kills int) step {
		return step{0, journal.RunEnded{Outcome: o, OOMKills: kills, Duration: time.Second, PeakBytes: 4 << 30}}
	}
	for what, c := range map[string]struct {
		steps []step
		want  []notify.Cause
		says  string
	}{
		"all is well":           {[]step{started, ended(journal.OutcomeOK, 0)}, nil, ""},
		"it fails":              {[]step{started, ended(journal.OutcomeFailed, 0)}, nil, ""},
		"it is killed":          {[]step{started, counted, ended(journal.OutcomeOOM, 1)}, []notify.Cause{notify.OOM}, "claude in shop: killed at its memory limit of 4 GiB\n"},
		"a child is killed":     {[]step{started, counted, child, child, counted, ended(journal.OutcomeOK, 2)}, []notify.Cause{notify.ChildKilled}, "je�[2Jst (pid 9) was killed for memory at 300 MiB by the kernel\n"},
		"first it, then all":    {[]step{started, counted, child, ended(journal.OutcomeOOM, 2)}, []notify.Cause{notify.ChildKilled, notify.OOM}, ""},
		"nobody knows its name": {[]step{started, counted, {6 * time.Second, nil}}, []notify.Cause{notify.ChildKilled}, "a process of it was killed for memory"},
		"nor at the end":        {[]step{started, counted, ended(journal.OutcomeOK, 1)}, []notify.Cause{notify.ChildKilled}, "was killed for memory"},
		"it is named later":     {[]step{started, counted, {time.Second, child.event}, ended(journal.OutcomeOK, 1)}, []notify.Cause{notify.ChildKilled}, "je�[2Jst"},
		"refused": {
			[]step{{0, journal.Refused{Reason: "claude is not admitted: it wants correct-horse-battery\nthe sum"}}},
			[]notify.Cause{notify.Refused},
			"claude in shop: claude is not admitted: it wants ********\n",
		},
		"two loops": {
			[]step{started, {0, journal.WindowLoop{Text: "read was called 4 times"}}, {0, journal.WindowRequest{}}, {time.Minute, journal.WindowLoop{Text: "an edit failed 4 times"}}, ended(journal.OutcomeOK, 0)},
			[]notify.Cause{notify.Loop, notify.Loop},
			"claude in shop: the agent repeats itself: read was called 4 times\nclaude in shop: the agent repeats itself: an edit failed 4 times\n",
		},
		"a limit":      {[]step{started, {0, journal.RunEnded{Outcome: journal.OutcomeLimit, LimitReached: "time_max"}}}, []notify.Cause{notify.Limit}, "ended at its limit time_max"},
		"forgotten":    {[]step{{0, journal.Forgotten{Text: "2 idle runs hold 9 GiB"}}, started, ended(journal.OutcomeOK, 0)}, []notify.Cause{notify.Forgotten}, "claude in shop: when it started, 2 idle runs hold 9 GiB"},
		"a server":     {[]step{{0, journal.ToolServer{Server: "github", State: "lost"}}, {0, journal.ToolServer{Server: "github", State: "killed", PID: 3, Peak: 1 << 30}}}, []notify.Cause{notify.ChildKilled}, "the MCP server github (pid 3) was killed at its memory limit, with 1 GiB"},
		"a short wait": {[]step{waits, {59 * time.Second, journal.Admitted{Waited: 59 * time.Second}}, started}, nil, ""},
		"its turn":     {[]step{waits, waits, {time.Minute, journal.Admitted{Waited: time.Minute}}, started, ended(journal.OutcomeOK, 0)}, []notify.Cause{notify.Turn}, "got its turn after 1m"},
		"a long wait":  {[]step{waits, {4 * time.Minute, waits.event}, {2 * time.Minute, nil}}, []notify.Cause{notify.Waiting}, "claude in shop: waits for memory, 2 in the queue, for 5m"},
		"then its turn": {
			[]step{waits, {6 * time.Minute, journal.Admitted{Waited: 6 * time.Minute}}, started},
			[]notify.Cause{notify.Waiting, notify.Turn},
			"got its turn after 6m",
		},
		"then not": {[]step{waits, {6 * time.Minute, journal.Refused{Reason: "nobody made room"}}}, []notify.Cause{notify.Waiting, notify.Refused}, "nobody made room"},
	} {
		causes, texts := played(t, c.steps...)
		if !slices.Equal(causes, c.want) || !strings.Contains(texts, c.says) {
			t.Errorf("%s: %v, not %v: %q, not %q", what, causes, c.want, texts, c.says)
		}
	}
}

// A sender takes notices at once, however slow its way is, and bounds what waits.
func TestASenderNeverMakesItsCallerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		way := &kept{send: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		s := notify.NewSender(way, notify.SenderOptions{Fail: func(err error) { said = append(said, err.Error()) }})
		began := time.Now()
		for range notify.MaxQueue + 10 {
			s.Give(sample)
			synctest.Wait() // the first is under way
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("giving took %s", took)
		}
		s.Close(2 * time.Second)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the end took %s", took)
		}
		if len(said) != 2 || !strings.Contains(said[0], "not given by kept") || !strings.Contains(said[1], fmt.Sprintf("%d notices", notify.MaxQueue+9)) {
			t.Errorf("%q", said)
		}
		s.Give(sample)
		if causes, _ := way.told(); len(causes) != 1 {
			t.Errorf("%d were given", len(causes))
		}
	})
}

func TestASenderWithoutANoticeEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		notify.NewSender(&kept{}, notify.SenderOptions{}).Close(time.Hour)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// A failure is told once, until there has been a success.
func TestFailuresAreToldWhenTheyBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		way := &kept{send: func(context.Context) error {
			if n++; n == 3 {
				return nil
			}
			return errors.New("no route")
		}}
		said := 0
		s := notify.NewSender(way, notify.SenderOptions{Fail: func(error) { said++ }})
		for range 5 {
			s.Give(sample)
			synctest.Wait()
		}
		s.Close(time.Second)
		if said != 2 {
			t.Errorf("told %d times, not before and after the one that was given", said)
		}
	})
}
