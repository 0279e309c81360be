package top

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/teatest/v2"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// scripted is a source whose runs the test sets, and which notes what was asked of it.
type scripted struct {
	mu    sync.Mutex
	snap  Snapshot
	fail  error // of what is asked for
	asked []string
	wants []Want
}

func (s *scripted) Read(_ context.Context, want Want) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wants = append(s.wants, want)
	return Snapshot{Host: s.snap.Host, Runs: append([]Row{}, s.snap.Runs...)}, nil
}

func (s *scripted) Run(_ context.Context, id string) (*runs.Run, error) {
	if id != "aaaa0001" {
		return nil, &runs.UnknownError{ID: id}
	}
	r := story()
	r.ID = id
	return r, nil
}

func (s *scripted) Close() error { return nil }

func (s *scripted) do(what, id, state string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what+" "+id)
	if s.fail != nil {
		return "", s.fail
	}
	if r := rowIn(s.snap.Runs, id); r != nil {
		r.State = state
	}
	return what + " done to " + id, nil
}

func (s *scripted) Pause(id string) (string, error)    { return s.do("pause", id, Paused) }
func (s *scripted) Continue(id string) (string, error) { return s.do("continue", id, runs.Running) }
func (s *scripted) End(id string) (string, error)      { return s.do("end", id, runs.Running) }
func (s *scripted) Raise(id string) (string, error)    { return s.do("raise", id, Paused) }

// person presses keys and sees what comes of them, without a terminal.
type person struct {
	t    *testing.T
	m    *model
	gone bool
}

func sitDown(t *testing.T, source Source, o Options) *person {
	t.Helper()
	first, err := source.Read(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, m: newModel(t.Context(), source, o, first)}
	p.m.screen.Color = false
	return p
}

// press presses keys, each a word, and does what comes of them; ticks are left out.
func (p *person) press(keys ...string) string {
	p.t.Helper()
	for _, k := range keys {
		p.send(keyOf(k))
	}
	frame := p.m.frame()
	fits(p.t, frame, p.m.screen.Width, p.m.screen.Height)
	return frame
}

func (p *person) send(msg tea.Msg) {
	_, cmd := p.m.Update(msg)
	p.run(cmd)
}

func (p *person) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		p.gone = true
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	case snapMsg, pageMsg, doneMsg:
		p.send(msg)
	default: // a sequence has no exported type: its parts are run by a real program, see TestLeavingWithAPausedRun
		p.t.Logf("%T is left to the program", msg)
	}
}

func keyOf(k string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
	}
	if code, special := codes[k]; special {
		return tea.KeyPressMsg{Code: code}
	}
	if k == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	r := []rune(k)[0]
	return tea.KeyPressMsg{Code: r, Text: k}
}

func TestAPersonFindsARun(t *testing.T) {
	s := &scripted{snap: busy()}
	p := sitDown(t, s, Options{})
	if p.m.screen.Selected != "aaaa0001" {
		t.Errorf("%q is selected, not what takes the most memory", p.m.screen.Selected)
	}
	if frame := p.press("down"); !strings.Contains(frame, "\n>run   └npm te") || !strings.Contains(frame, "run bbbb0001, pid 13") {
		t.Error(frame)
	}
	if frame := p.press("end"); !strings.Contains(frame, "\n>oom") || !strings.Contains(frame, "killed at its memory limit of 4 GiB") {
		t.Error(frame)
	}
	if frame := p.press("home", "s"); !strings.Contains(frame, "by cpu") {
		t.Error(frame)
	}
	if frame := p.press("/", "w", "e", "b", "x", "backspace", "enter"); !strings.Contains(frame, "/web") || !strings.Contains(frame, "\n>wait  codex") || strings.Contains(frame, "shop") {
		t.Error(frame)
	}
	if frame := p.press("esc"); !strings.Contains(frame, "shop") {
		t.Error(frame)
	}
	if frame := p.press("?"); !strings.Contains(frame, "processes that were killed for memory") {
		t.Error(frame)
	}
	if frame := p.press("q"); p.gone || !strings.Contains(frame, "shop") {
		t.Error("a key of the list of keys leaves\n", frame)
	}
	if p.press("q"); !p.gone {
		t.Error("q does not leave")
	}
}

func TestTreesAreReadWhereTheyAreOpen(t *testing.T) {
	s := &scripted{snap: busy()}
	p := sitDown(t, s, Options{})
	last := func() Want { return s.wants[len(s.wants)-1] }
	if p.press("t"); !last().tree("aaaa0001") || last().tree("bbbb0001") {
		t.Errorf("%+v", last())
	}
	if p.press("t"); last().tree("aaaa0001") {
		t.Errorf("%+v", last())
	}
	if p.press("T"); !last().tree("bbbb0001") {
		t.Errorf("%+v", last())
	}
}

func TestEndingAsksFirst(t *testing.T) {
	s := &scripted{snap: busy()}
	p := sitDown(t, s, Options{})
	if frame := p.press("e"); !strings.Contains(frame, "End claude in shop (run aaaa0001)?") || len(s.asked) > 0 {
		t.Error(frame, s.asked)
	}
	if frame := p.press("n"); !strings.Contains(frame, "was left alone") || len(s.asked) > 0 {
		t.Error(frame, s.asked)
	}
	p.press("e")
	s.snap.Runs = nil // it may have gone meanwhile: the answer is about what was asked
	p.send(snapMsg{snap: s.snap})
	if frame := p.press("y"); fmt.Sprint(s.asked) != "[end aaaa0001]" || !strings.Contains(frame, "end done to aaaa0001") {
		t.Error(frame, s.asked)
	}
}

func TestPausingSaysWhatItCannotDo(t *testing.T) {
	s := &scripted{snap: busy()}
	p := sitDown(t, s, Options{})
	if frame := p.press("p"); fmt.Sprint(s.asked) != "[pause aaaa0001]" || !strings.Contains(frame, ">pause claude") {
		t.Error(frame, s.asked)
	}
	if frame := p.press("q"); p.gone || !strings.Contains(frame, "1 runs that were paused here stay paused: aaaa0001") {
		t.Error(frame)
	}
	if frame := p.press("x"); p.gone || !strings.Contains(frame, "\n>pause") {
		t.Error(frame)
	}
	if frame := p.press("c"); !strings.Contains(frame, ">run   claude") {
		t.Error(frame, s.asked)
	}
	s.fail = errors.New("it is another user's")
	if frame := p.press("p"); !strings.Contains(frame, "not done: it is another user's") {
		t.Error(frame)
	}
	s.fail = nil
	p.press("p")
	s.fail = errors.New("it is another user's")
	if frame := p.press("q", "c"); p.gone || !strings.Contains(frame, "not done: it is another user's") {
		t.Errorf("gone, and the run stays paused: %s", frame)
	}
	s.fail = nil
	if p.press("q", "c"); !p.gone || s.asked[len(s.asked)-1] != "continue aaaa0001" {
		t.Errorf("not gone: %v", s.asked)
	}
	p = sitDown(t, s, Options{})
	if frame := p.press("end", "p"); !strings.Contains(frame, "it has ended") {
		t.Error(frame)
	}
}

func TestThePageOfARunOpensAndCloses(t *testing.T) {
	s := &scripted{snap: busy()}
	s.snap.Host.Time = noon.Add(time.Hour)
	p := sitDown(t, s, Options{})
	frame := p.press("enter")
	if !strings.Contains(frame, "claude in shop, run aaaa0001") || !strings.Contains(frame, "▁") || !strings.Contains(frame, "160k to 70k tokens by results, summary") {
		t.Error(frame)
	}
	if frame = p.press("end"); !strings.Contains(frame, "argocd/list") {
		t.Error(frame)
	}
	if frame = p.press("esc"); !strings.Contains(frame, "STATE TOOL") {
		t.Error(frame)
	}
	if frame = p.press("down", "enter"); !strings.Contains(frame, `not done: there is no run "bbbb0001"`) {
		t.Error(frame)
	}
}

func TestAFailedLookIsToldAndPasses(t *testing.T) {
	s := &scripted{snap: busy()}
	p := sitDown(t, s, Options{})
	p.send(snapMsg{err: errors.New("the store is gone")})
	if frame := p.press(); !strings.Contains(frame, "not read: the store is gone") || !strings.Contains(frame, "shop") {
		t.Error(frame)
	}
	p.send(snapMsg{snap: s.snap})
	if frame := p.press(); strings.Contains(frame, "not read") {
		t.Error(frame)
	}
}

// kept writes a run into a store of its own.
func kept(t *testing.T) *runs.Store {
	t.Helper()
	dir := t.TempDir()
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "kkkk0001", Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop", LimitBytes: gib}})
	w.Sample(runs.Sample{Working: 300 * mib, Charged: 310 * mib, Processes: 2})
	if err := w.End(journal.Report{Tool: "claude", Project: "shop", Outcome: "oom", LimitBytes: gib, PeakBytes: gib, OOMKills: 1, DurationMS: 10}); err != nil {
		t.Fatal(err)
	}
	store, err := runs.Open(dir)
	if err == nil {
		err = store.Poll()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestAReplayPlaysWhatIsKept(t *testing.T) {
	store := kept(t)
	began := store.Entries()[0].Started
	now := time.Now().Add(time.Minute)
	r, err := newReplay(store, "last", false, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	p := sitDown(t, r, Options{})
	if frame := p.press(); !strings.Contains(frame, "replay of "+began.Format("2006-01-02 15:04:05")) || !strings.Contains(frame, "\n>run   claude") {
		t.Error(frame)
	}
	if frame := p.press("p"); !strings.Contains(frame, "nothing can be done to what was") {
		t.Error(frame)
	}
	if frame := p.press("right"); !strings.Contains(frame, "\n>oom   claude") || !strings.Contains(frame, "killed at its memory limit of 1 GiB") {
		t.Error(frame)
	}
	if frame := p.press("]", "]", "]"); strings.Contains(frame, "claude") && !strings.Contains(frame, "oom") {
		t.Error(frame)
	}
	if frame := p.press("[", "[", "[", "[", "space"); !strings.Contains(frame, "the clock stands still") || !strings.Contains(frame, "\n>run   claude") {
		t.Error(frame)
	}
	now = now.Add(time.Hour)
	if frame := p.press("x"); !strings.Contains(frame, "\n>run   claude") {
		t.Error("a clock that stands still goes on\n", frame)
	}
	if frame := p.press("+", "+"); !strings.Contains(frame, "2 times as fast") {
		t.Error(frame)
	}
	for when, want := range map[string]string{"nonsense": "--replay takes a time", "2001-01-01": "nothing is known of", "2099-01-01 10:00": "has not come yet"} {
		if _, err := newReplay(store, when, false, func() time.Time { return now }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", when, err)
		}
	}
	empty, err := runs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newReplay(empty, "10m", false, time.Now); err == nil || !strings.Contains(err.Error(), "nothing to replay") {
		t.Error(err)
	}
}

// Who looks once at a run that is over wants to see how it ended, and how old a run is does not stop when it ends.
func TestOneLookAtAReplayIsItsEnd(t *testing.T) {
	store := kept(t)
	e := store.Entries()[0]
	now := e.Started.Add(4 * time.Minute)
	for name, atEnd := range map[string]bool{"last": true, "claude": true, "kkkk": false} {
		r, err := newReplay(store, name, atEnd, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		snap, err := r.Read(t.Context(), Want{})
		if err != nil || len(snap.Runs) != 1 {
			t.Fatalf("%v, %+v", err, snap)
		}
		row := snap.Runs[0]
		if ended := row.State == "oom" && row.DurationMS == 10 && row.PeakBytes == gib; ended != atEnd {
			t.Errorf("%s: %+v", name, row)
		}
	}
	if row := rowOf(&e, now, nil); row.AgeMS != 240_000 || row.DurationMS != 10 {
		t.Errorf("four minutes after it began: %+v", row)
	}
}

func TestTimesAsPeopleWriteThem(t *testing.T) {
	for when, want := range map[string]string{
		"20m": "2026-11-24 11:40:00", "1h30m": "2026-11-24 10:30:00", "11:59": "2026-11-24 11:59:00", "12:01": "2026-11-23 12:01:00",
		"11:59:30": "2026-11-24 11:59:30", "2026-11-20 08:00": "2026-11-20 08:00:00", "2026-11-20": "2026-11-20 00:00:00",
		"2026-11-20T08:00:00+01:00": "2026-11-20 07:00:00",
	} {
		if got, ok := parseWhen(when, noon); !ok || got.UTC().Format(time.DateTime) != want {
			t.Errorf("%s is %s, %v", when, got, ok)
		}
	}
	for _, no := range []string{"", "last", "-5m", "abcd1234efgh", "25:00"} {
		if _, ok := parseWhen(no, noon); ok {
			t.Errorf("%q is a time", no)
		}
	}
}

// The program itself: it draws, takes keys, asks about what it has paused, and leaves.
func TestLeavingWithAPausedRun(t *testing.T) {
	s := &scripted{snap: busy()}
	m := newModel(t.Context(), s, Options{Every: 20 * time.Millisecond}, busy())
	p := teatest.NewTestModel(t, m, teatest.WithInitialTermSize(80, 24))
	shows := func(text string) {
		t.Helper()
		teatest.WaitFor(t, p.Output(), func(out []byte) bool { return bytes.Contains(out, []byte(text)) }, teatest.WithDuration(10*time.Second))
	}
	shows("claude")
	p.Send(keyOf("p"))
	shows("pause done to aaaa0001")
	p.Send(keyOf("q"))
	shows("stay paused: aaaa0001")
	p.Send(keyOf("c"))
	p.WaitFinished(t, teatest.WithFinalTimeout(10*time.Second))
	s.mu.Lock()
	defer s.mu.Unlock()
	if fmt.Sprint(s.asked) != "[pause aaaa0001 continue aaaa0001]" {
		t.Error(s.asked)
	}
}

// The screen comes with the first look; when that takes long the person sees why, and may leave.
func TestBeginning(t *testing.T) {
	s := &scripted{snap: busy()}
	goes := make(chan struct{})
	m := newModel(t.Context(), nil, Options{}, Snapshot{})
	m.begins = begin(func() (Source, Snapshot, error) {
		<-goes
		return s, busy(), nil
	})
	later := m.Init()
	if text := m.View().Content; text != "reading what runs" {
		t.Errorf("before the first look the screen is %q", text)
	}
	if _, cmd := m.Update(keyOf("e")); cmd != nil {
		t.Error("a key does something before there is a run to do it to")
	}
	for _, k := range []tea.Msg{keyOf("q"), tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}} {
		if _, cmd := m.Update(k); cmd == nil || cmd() != tea.Quit() {
			t.Errorf("%v does not leave", k)
		}
	}
	close(goes)
	if _, cmd := m.Update(later()); cmd == nil || !strings.Contains(m.View().Content, "claude") {
		t.Errorf("after the first look the screen is %q", m.View().Content)
	}

	quick := newModel(t.Context(), nil, Options{}, Snapshot{})
	quick.begins = begin(func() (Source, Snapshot, error) { return s, busy(), nil })
	if quick.Init() == nil || !strings.Contains(quick.View().Content, "claude") || quick.source != Source(s) {
		t.Errorf("a quick first look shows %q", quick.View().Content)
	}
}

// What keeps a first look from being taken is told on the person's own screen.
func TestNoBeginning(t *testing.T) {
	none := errors.New("there is no such run")
	b := begin(func() (Source, Snapshot, error) { return nil, Snapshot{}, none })
	var out bytes.Buffer
	in, typed := io.Pipe()
	defer typed.Close()
	if err := show(t.Context(), b, Options{In: in, Out: &out, Environ: []string{"TERM=xterm"}}); !errors.Is(err, none) {
		t.Errorf("the error is %v", err)
	}
	if strings.Contains(out.String(), "\x1b[?1049h") {
		t.Errorf("the screen was taken: %q", out.String())
	}
}
