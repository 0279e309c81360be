package usage_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

func seen(id string, at time.Time) usage.Observation {
	return usage.Observation{Project: "p1", Tool: "make", Run: usage.Run{
		ID: id, Variant: "test", Time: at, Peak: 900 * limit.MiB, PeakAnon: 880 * limit.MiB, Method: usage.MethodMemoryPeak, Exact: true,
		Outcome: journal.OutcomeOK, Duration: time.Minute, Limit: 4 * limit.GiB, Layer: "cgroup1", Tokens: 5, Cost: 0.25, Answers: 3, AnswerP99: 9,
	}}
}

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestObservations(t *testing.T) {
	want := seen("h/1", noon)
	line, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(line), "\n") {
		t.Errorf("%s", line)
	}
	got, err := usage.ParseObservation(line)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// One that nobody has named has the same name each time, and another run has another.
	a, _ := seen("", noon).Encode()
	b, _ := seen("", noon).Encode()
	c, _ := seen("", noon.Add(time.Second)).Encode()
	if one, err := usage.ParseObservation(a); err != nil || string(a) != string(b) || strings.Contains(string(c), one.Run.ID) {
		t.Errorf("%v\n%s\n%s\n%s", err, a, b, c)
	}
	wrong := seen("h/1", noon)
	wrong.Run.Cost = math.NaN()
	if _, err := wrong.Encode(); err == nil {
		t.Error("a cost that is no number was encoded")
	}
}

func TestImpossibleObservationsAreRefused(t *testing.T) {
	good, err := seen("h/1", noon).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"project":"p1"`, `"project":"../p1"`},
		{`"tool":"make"`, `"tool":""`},
		{`"tool":"make"`, `"tool":"make › x"`},
		{`"tool":"make"`, `"tool":"a\u001b[2J"`},
		{`"variant":"test"`, `"variant":"` + strings.Repeat("x", 101) + `"`},
		{`"ms":60000`, `"ms":-1`},
		{`"ms":60000`, `"ms":9223372036854775807`},
		{`"usd":0.25`, `"usd":-1`},
		{`"usd":0.25`, `"usd":1e300`},
		{`"tokens":5`, `"tokens":-5`},
		{`"answer_p99":9`, `"answer_p99":-9`},
		{`"id":"h/1"`, `"id":""`},
		{`"id":"h/1"`, `"id":"../../x y"`},
		{`"2026-`, `"0001-`},
		{`"exact":true`, `"exact":true,"surprise":1`},
		{`"tool"`, `"` + strings.Repeat("x", usage.MaxObservation) + `":1,"tool"`},
	} {
		line := strings.Replace(string(good), change[0], change[1], 1)
		if line == string(good) {
			t.Fatalf("%s is not in %s", change[0], good)
		}
		if _, err := usage.ParseObservation([]byte(line)); !errors.Is(err, usage.ErrInvalid) {
			t.Errorf("%s: %v", change[1], err)
		}
	}
	if _, err := usage.ParseObservation([]byte(string(good) + string(good))); !errors.Is(err, usage.ErrInvalid) {
		t.Error(err)
	}
}

// What is imported counts once, from however many files and in whatever order, and the runs that ended last stay.
func TestMerge(t *testing.T) {
	t.Parallel()
	h := usage.OpenImported(t.TempDir(), usage.Options{Keep: 5})
	var list []usage.Observation
	for i := range 8 {
		list = append(list, seen(fmt.Sprintf("h/%d", i), noon.Add(time.Duration(i)*time.Minute)))
	}
	added := 0
	for _, part := range [][]usage.Observation{list[6:], list[:3], list[3:7], append(list[5:], list[5:]...), list} {
		n, err := h.Merge("p1", part)
		if err != nil {
			t.Fatal(err)
		}
		added += n
	}
	found, err := h.Project("p1")
	if err != nil || len(found) != 1 || found[0].Tool != "make" || found[0].Variant != "test" || found[0].Recorded != 5 || found[0].Project.Shared != "p1" {
		t.Fatalf("%+v %v", found, err)
	}
	for i, r := range found[0].Runs {
		if want := fmt.Sprintf("h/%d", i+3); r.ID != want {
			t.Errorf("run %d is %s, want %s", i, r.ID, want)
		}
	}
	if n, err := h.Merge("p1", list); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := h.Merge("../x", list); !errors.Is(err, usage.ErrInvalid) {
		t.Error(err)
	}
	// A run of the future counts as of now: else it would stay for ever.
	late := seen("h/late", time.Now().AddDate(100, 0, 0))
	if _, err := h.Merge("p1", []usage.Observation{late}); err != nil {
		t.Fatal(err)
	}
	if runs, err := h.Variants("p1", "make"); err != nil || runs["test"][4].ID != "h/late" || runs["test"][4].Time.After(time.Now()) {
		t.Error(runs, err)
	}
}

func FuzzParseObservation(f *testing.F) {
	line, _ := seen("h/1", noon).Encode()
	f.Add(line)
	f.Add([]byte(`{"project":"p","tool":"t","run":{"time":"2026-01-01T00:00:00Z","ms":1,"peak":1,"id":"x"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		o, err := usage.ParseObservation(line)
		if err != nil {
			return
		}
		again, err := o.Encode()
		if err != nil {
			t.Fatalf("%q was read and can't be written: %v", line, err)
		}
		if back, err := usage.ParseObservation(again); err != nil || back.Run.ID != o.Run.ID || back.Run.Peak != o.Run.Peak {
			t.Fatalf("%q became %q, %v", line, again, err)
		}
		h := usage.OpenImported(t.TempDir(), usage.Options{})
		if n, err := h.Merge(o.Project, []usage.Observation{o}); n != 1 || err != nil {
			t.Fatalf("%q: %d, %v", line, n, err)
		}
		if found, err := h.Project(o.Project); err != nil || len(found) != 1 {
			t.Fatalf("%q is not read back: %v, %v", line, found, err)
		}
	})
}
