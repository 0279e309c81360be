package tasklog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

func openStore(t *testing.T, o tasklog.StoreOptions) *tasklog.Store {
	t.Helper()
	s, err := tasklog.OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func create(t *testing.T, s *tasklog.Store, task tasklog.Task) {
	t.Helper()
	if v, err := s.Create(t.Context(), task); v != 1 || err != nil {
		t.Fatalf("create %q: version %d, %v", task.ID, v, err)
	}
}

func ids(tasks []tasklog.Task) string {
	var list []string
	for _, one := range tasks {
		list = append(list, one.ID)
	}
	return strings.Join(list, " ")
}

// all lists page by page.
func all(t *testing.T, s *tasklog.Store, q tasklog.Query) string {
	t.Helper()
	var list []string
	for {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Tasks) > 0 {
			list = append(list, ids(page.Tasks))
		}
		if page.Next == "" {
			return strings.Join(list, " | ")
		}
		q.Token = page.Next
	}
}

// stores runs a test with a store on the disk and with one in memory.
func stores(t *testing.T, o tasklog.StoreOptions, test func(*testing.T, *tasklog.Store)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { test(t, openStore(t, o)) })
	t.Run("disk", func(t *testing.T) {
		o.Dir = filepath.Join(t.TempDir(), "tasks")
		test(t, openStore(t, o))
	})
}

func TestTasksAreKept(t *testing.T) {
	stores(t, tasklog.StoreOptions{MaxTask: limit.KiB}, func(t *testing.T, s *tasklog.Store) {
		ctx := t.Context()
		at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		body := []byte(`{"a":"é` + "\n\x00" + `"}`)
		create(t, s, tasklog.Task{ID: "../é/1", Context: "c", Owner: "o", State: "working", Time: at, Seq: 7, Body: body})
		body[0] = '!' // the store has its own
		got, err := s.Get(ctx, "../é/1")
		if err != nil || got.ID != "../é/1" || got.Context != "c" || got.Owner != "o" || got.State != "working" || got.Ended ||
			!got.Time.Equal(at) || got.Seq != 7 || got.Version != 1 || got.Changed.IsZero() || string(got.Body) != "{\"a\":\"é\n\x00\"}" {
			t.Errorf("got %+v, %v", got, err)
		}
		got.Body[0] = '!' // and gives copies
		before := got.Changed
		if v, err := s.Update(ctx, tasklog.Task{ID: "../é/1", State: "done", Ended: true, Version: 1}); v != 2 || err != nil {
			t.Errorf("update: version %d, %v", v, err)
		}
		got, err = s.Get(ctx, "../é/1")
		if err != nil || got.State != "done" || !got.Ended || got.Version != 2 || !got.Changed.After(before) || len(got.Body) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
		if v, err := s.Update(ctx, tasklog.Task{ID: "../é/1"}); v != 3 || err != nil {
			t.Errorf("update of any version: %d, %v", v, err)
		}

		gone, cancel := context.WithCancel(ctx)
		cancel()
		for what, one := range map[string]struct{ got, want error }{
			"create again": {second(s.Create(ctx, tasklog.Task{ID: "../é/1"})), tasklog.ErrExists},
			"old version":  {second(s.Update(ctx, tasklog.Task{ID: "../é/1", Version: 2})), tasklog.ErrConflict},
			"update none":  {second(s.Update(ctx, tasklog.Task{ID: "none"})), tasklog.ErrNotFound},
			"get none":     {second(s.Get(ctx, "none")), tasklog.ErrNotFound},
			"no id":        {second(s.Create(ctx, tasklog.Task{})), tasklog.ErrName},
			"long state":   {second(s.Create(ctx, tasklog.Task{ID: "a", State: strings.Repeat("s", tasklog.MaxName+1)})), tasklog.ErrName},
			"broken UTF-8": {second(s.Create(ctx, tasklog.Task{ID: "a\xff"})), tasklog.ErrName},
			"large":        {second(s.Create(ctx, tasklog.Task{ID: "a", Body: make([]byte, 1025)})), tasklog.ErrTooLarge},
			"bad token":    {second(s.List(ctx, tasklog.Query{Token: "?"})), tasklog.ErrToken},
			"client gone":  {second(s.Get(gone, "../é/1")), context.Canceled},
		} {
			if !errors.Is(one.got, one.want) {
				t.Errorf("%s: %v, want %v", what, one.got, one.want)
			}
		}
		if !s.Remove("../é/1") || s.Remove("../é/1") {
			t.Error("a task is not removed once")
		}
		if n := s.Stats(); n.Tasks != 0 || n.Bytes != 0 || n.Created != 1 || n.Updated != 2 || n.Conflict != 1 {
			t.Errorf("counts %+v", n)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, err := s.Create(ctx, tasklog.Task{ID: "late"}); !errors.Is(err, tasklog.ErrClosed) {
			t.Errorf("create after close: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestListIsInOrderOfChange(t *testing.T) {
	stores(t, tasklog.StoreOptions{}, func(t *testing.T, s *tasklog.Store) {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range 10 {
			create(t, s, tasklog.Task{
				ID: fmt.Sprint(i), Context: fmt.Sprint("c", i%2), Owner: fmt.Sprint("o", i%3), State: fmt.Sprint("s", i%4), Ended: i%4 == 0,
				Time: at.Add(time.Duration(i) * time.Hour), Body: make([]byte, 100),
			})
		}
		if _, err := s.Update(t.Context(), tasklog.Task{ID: "3", Context: "c1", State: "s3", Body: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			q    tasklog.Query
			want string
		}{
			{tasklog.Query{}, "3 9 8 7 6 5 4 2 1 0"},
			{tasklog.Query{Limit: 4}, "3 9 8 7 | 6 5 4 2 | 1 0"},
			{tasklog.Query{Limit: 5}, "3 9 8 7 6 | 5 4 2 1 0"},
			{tasklog.Query{MaxBytes: 1, Context: "c0"}, "8 | 6 | 4 | 2 | 0"},
			{tasklog.Query{Context: "c1", Limit: 2}, "3 9 | 7 5 | 1"},
			{tasklog.Query{Owner: "o1"}, "7 4 1"},
			{tasklog.Query{State: "s2"}, "6 2"},
			{tasklog.Query{Running: true}, "3 9 7 6 5 2 1"},
			{tasklog.Query{After: at.Add(7 * time.Hour)}, "9 8 7"},
			{tasklog.Query{Context: "none"}, ""},
		} {
			if got := all(t, s, test.q); got != test.want {
				t.Errorf("%+v lists %q, want %q", test.q, got, test.want)
			}
		}
		// What changes while it is listed is not given twice, and moves nothing else.
		page, err := s.List(t.Context(), tasklog.Query{Limit: 3})
		if err != nil || ids(page.Tasks) != "3 9 8" || page.Total != 10 {
			t.Fatalf("page 1: %q of %d, %v", ids(page.Tasks), page.Total, err)
		}
		s.Remove("8")
		s.Remove("7")
		if _, err := s.Update(t.Context(), tasklog.Task{ID: "9"}); err != nil {
			t.Fatal(err)
		}
		if got := all(t, s, tasklog.Query{Limit: 3, Token: page.Next}); got != "6 5 4 | 2 1 0" {
			t.Errorf("the other pages: %q", got)
		}
	})
}

func TestStoreSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tasks")
	s := openStore(t, tasklog.StoreOptions{Dir: dir})
	if _, err := tasklog.OpenStore(tasklog.StoreOptions{Dir: dir}); !errors.Is(err, tasklog.ErrLocked) {
		t.Errorf("a second opener: %v", err)
	}
	for i := range 20 {
		create(t, s, tasklog.Task{ID: fmt.Sprint(i), Ended: i%2 == 0, Body: fmt.Append(nil, "body ", i)})
	}
	want := all(t, s, tasklog.Query{Limit: 6})
	size := s.Stats().Bytes
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 21 {
		t.Errorf("%d files, %v", len(files), err)
	}
	total := int64(0)
	for _, f := range files {
		info, err := f.Info()
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", f.Name(), info.Mode(), err)
		}
		total += info.Size() // the lock is empty
	}
	if total != size {
		t.Errorf("%d bytes on the disk, counted %d", total, size)
	}

	s = openStore(t, tasklog.StoreOptions{Dir: dir})
	if got := all(t, s, tasklog.Query{Limit: 6}); got != want {
		t.Errorf("after a restart %q, before %q", got, want)
	}
	if got, err := s.Get(t.Context(), "7"); err != nil || string(got.Body) != "body 7" || got.Version != 1 {
		t.Errorf("after a restart %+v, %v", got, err)
	}
	if n := s.Stats(); n.Tasks != 20 || n.Running != 10 || n.Bytes != size || n.Damaged != 0 {
		t.Errorf("counts %+v", n)
	}
	// Later changes come before earlier ones, also when the clock went back meanwhile.
	if _, err := s.Update(t.Context(), tasklog.Task{ID: "0"}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, s, tasklog.Query{Limit: 100}); !strings.HasPrefix(got, "0 19 18 ") {
		t.Errorf("after a change %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A smaller bound lets go at once.
	s = openStore(t, tasklog.StoreOptions{Dir: dir, MaxTasks: 12})
	if got := all(t, s, tasklog.Query{}); got != "0 19 18 17 15 13 11 9 7 5 3 1" {
		t.Errorf("under a smaller bound %q", got)
	}
}

func TestEndedTasksMakeRoom(t *testing.T) {
	t.Parallel()
	for _, o := range []tasklog.StoreOptions{{MaxTasks: 4}, {MaxBytes: 4 * 1200}} {
		stored := func(t *testing.T, dir string) {
			o := o
			o.Dir, o.Name, o.Journal = dir, "argocd", journal.New(journal.Options{})
			s := openStore(t, o)
			put := func(id string, ended bool) {
				t.Helper()
				create(t, s, tasklog.Task{ID: id, Ended: ended, Body: make([]byte, 1000)})
			}
			put("a", false)
			put("b", true)
			put("c", true)
			put("d", false)
			if _, err := s.Update(t.Context(), tasklog.Task{ID: "b", Ended: true, Body: make([]byte, 1000)}); err != nil {
				t.Fatal(err)
			}
			put("e", false) // c changed before b
			if got := all(t, s, tasklog.Query{}); got != "e b d a" {
				t.Errorf("%+v: beside a fifth task %q", o, got)
			}
			put("f", false)
			put("g", false) // all run
			if got := all(t, s, tasklog.Query{}); got != "g f e d" {
				t.Errorf("%+v: beside a seventh task %q", o, got)
			}
			n := s.Stats()
			if n.Evicted != 3 || n.EvictedRunning != 1 || n.Tasks != 4 || n.Bytes > 4*1200 {
				t.Errorf("%+v: counts %+v", o, n)
			}
			evicted, running := 0, 0
			for rec := range o.Journal.Since(0) {
				e := rec.Event.(journal.AgentTasksEvicted)
				evicted += e.Tasks
				running += e.Running
				if want := map[bool]string{true: "count", false: "bytes"}[o.MaxTasks > 0]; e.Why != want || e.Agent != "argocd" || e.Bytes < 1000 {
					t.Errorf("%+v: told %+v", o, e)
				}
			}
			if evicted != 3 || running != 1 {
				t.Errorf("%+v: told of %d tasks, %d running", o, evicted, running)
			}
		}
		t.Run("memory", func(t *testing.T) { stored(t, "") })
		t.Run("disk", func(t *testing.T) { stored(t, t.TempDir()) })
	}
}

func TestOldTasksGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, tasklog.StoreOptions{Dir: dir, MaxAge: 24 * time.Hour})
		create(t, s, tasklog.Task{ID: "runs"})
		create(t, s, tasklog.Task{ID: "ended", Ended: true})
		time.Sleep(23 * time.Hour)
		create(t, s, tasklog.Task{ID: "later", Ended: true})
		time.Sleep(59 * time.Minute)
		if got := all(t, s, tasklog.Query{}); got != "later ended runs" {
			t.Errorf("within a day %q", got)
		}
		time.Sleep(2 * time.Minute)
		if got := all(t, s, tasklog.Query{}); got != "later runs" {
			t.Errorf("after a day %q", got)
		}
		if n := s.Stats(); n.Expired != 1 || n.Evicted != 0 {
			t.Errorf("counts %+v", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		s = openStore(t, tasklog.StoreOptions{Dir: dir, MaxAge: 24 * time.Hour})
		if got := all(t, s, tasklog.Query{}); got != "runs" {
			t.Errorf("after two days and a restart %q", got)
		}
		_ = s.Close()
	})
}

// Of writers that saw the same version one wins; readers and listers always see whole tasks.
func TestManyWriters(t *testing.T) {
	stores(t, tasklog.StoreOptions{MaxTasks: 8, MaxBytes: 64 * limit.KiB}, func(t *testing.T, s *tasklog.Store) {
		ctx := t.Context()
		create(t, s, tasklog.Task{ID: "shared", Body: []byte("0")})
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 40 {
					old, err := s.Get(ctx, "shared")
					if err != nil {
						t.Error(err)
						return
					}
					old.Body = fmt.Append(nil, old.Version)
					switch _, err := s.Update(ctx, old); {
					case err == nil:
						won.Add(1)
					case errors.Is(err, tasklog.ErrConflict):
						lost.Add(1)
					default:
						t.Error(err)
					}
					own := fmt.Sprint(w, " ", i)
					if _, err := s.Create(ctx, tasklog.Task{ID: own, Ended: true, Body: make([]byte, rand.IntN(2000))}); err != nil {
						t.Error(err)
					}
					if _, err := s.Update(ctx, tasklog.Task{ID: own, Ended: true, Body: make([]byte, rand.IntN(2000))}); err != nil && !errors.Is(err, tasklog.ErrNotFound) {
						t.Error(err)
					}
					page, err := s.List(ctx, tasklog.Query{Limit: 3})
					if err != nil || len(page.Tasks) == 0 {
						t.Errorf("a page of %d tasks, %v", len(page.Tasks), err)
					}
					if i%5 == 0 {
						s.Remove(own)
					}
				}
			})
		}
		wg.Wait()
		got, err := s.Get(ctx, "shared")
		if err != nil || got.Version != 1+won.Load() || string(got.Body) != fmt.Sprint(won.Load()) {
			t.Errorf("%d changes were made, and it is %+v, %v", won.Load(), got, err)
		}
		n := s.Stats()
		if n.Conflict != uint64(lost.Load()) || n.Tasks > 8 || n.Bytes > int64(64*limit.KiB) || n.Damaged != 0 || n.EvictedRunning != 0 || n.WriteErrors != 0 {
			t.Errorf("counts %+v", n)
		}
	})
}

// Tasks on the disk weigh nothing but their names in memory.
func TestMemoryOfStore(t *testing.T) {
	before := heap()
	s := openStore(t, tasklog.StoreOptions{Dir: t.TempDir()})
	for i := range 500 {
		create(t, s, tasklog.Task{ID: fmt.Sprint(i), Body: make([]byte, 32<<10)})
	}
	if got := int64(heap()) - int64(before); got > 500*1024 {
		t.Errorf("500 tasks take %d bytes, want at most 1 KiB each", got)
	}
	page, err := s.List(t.Context(), tasklog.Query{Limit: 500, MaxBytes: 200 * limit.KiB})
	if err != nil || len(page.Tasks) != 6 || page.Total != 500 {
		t.Errorf("a page in 200 KiB has %d tasks of %d, %v", len(page.Tasks), page.Total, err)
	}
	if !slices.IsSortedFunc(page.Tasks, func(a, b tasklog.Task) int { return b.Changed.Compare(a.Changed) }) {
		t.Error("a page is not in order")
	}
}
