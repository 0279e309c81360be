package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// lookedAround is a conversation whose tools have said a lot.
func lookedAround(results, numbers int) []Message {
	ms := []Message{userSays("find out why shop-api does not start")}
	for i := range results {
		call := Call{ID: fmt.Sprint("c", i), Name: "logs", Arguments: fmt.Sprintf(`{"pod":%d}`, i)}
		ms = append(ms,
			Message{Role: RoleAssistant, Text: fmt.Sprint("Look at pod ", i, "."), Calls: []Call{call}},
			Message{Role: RoleTool, CallID: call.ID, Name: call.Name, Text: fmt.Sprint("pod ", i, ": ", fitWords(numbers, uint64(i)))})
	}
	return append(ms, modelSays("These were all."), userSays("and now?"))
}

// keeper keeps results as an agent's spool does.
type resultKeeper map[string]string

func (k resultKeeper) keep(tool, text string) string {
	where := fmt.Sprintf("result_page of %s number %d", tool, len(k))
	k[where] = text
	return where
}

// At a cut, and not before, the model says by one call what old results said; the whole of each stays where the line about it says.
func TestResultsAreSummarisedByTheModelAtACut(t *testing.T) {
	t.Parallel()
	asked, kept := 0, resultKeeper{}
	core := newCore(fitModel(30_000), Limits{}, Room{Keep: kept.keep})
	f := core.query(func(_ context.Context, r *Request) (*Reply, error) {
		asked++
		text := r.Messages[0].Text
		if !strings.Contains(text, "TASK: find out why shop-api") || !strings.Contains(text, "## 1 RESULT logs:\npod 0: ") {
			t.Errorf("it was shown %.300q", text)
		}
		var said strings.Builder
		for i := range strings.Count(text, " RESULT logs") {
			fmt.Fprintf(&said, "## %d\nThe pod with the number %d waits for the tag v1.4.%d.\n", i+1, i, i)
		}
		return &Reply{Message: modelSays(said.String()), Stop: StopEnd, Usage: Usage{Input: 9000, Output: 60}}, nil
	})
	few := lookedAround(3, 3000)
	_, below := mustFit(t, f, "You help.", few)
	if asked != 0 || below.MadeRoom || len(kept) != 0 {
		t.Fatalf("below the trigger: asked %d times, %+v", asked, below)
	}
	ms := lookedAround(10, 3000)
	whole := map[string]bool{}
	for _, m := range ms {
		whole[m.Text] = true
	}
	out, did := mustFit(t, f, "You help.", ms)
	if asked != 1 || !strings.Contains(strings.Join(did.Rungs, " "), "results") || strings.Contains(did.Actions, "mask") || did.Summary.Input != 9000 {
		t.Fatalf("asked %d times: %+v", asked, did)
	}
	told := 0
	for _, m := range out {
		if m.Role != RoleTool || whole[m.Text] {
			continue
		}
		told++
		_, where, _ := strings.Cut(m.Text, "all of it by ")
		where, _, _ = strings.Cut(where, ";")
		if !strings.Contains(m.Text, "waits for the tag v1.4.") || !whole[kept[where]] || !strings.HasPrefix(kept[where], "pod ") {
			t.Errorf("in place of a result stands %q", m.Text)
		}
	}
	if told < 5 {
		t.Errorf("%d results were summarised", told)
	}
	// What the model has read it reads again, and nobody is asked for it a second time.
	again, _ := mustFit(t, f, "You help.", append(ms[:len(ms):len(ms)], modelSays("x"), userSays("y")))
	for i, m := range out {
		if again[i].Text != m.Text {
			t.Errorf("message %d was changed once more", i)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A model that does not answer, or says something else, leaves what is done without one; the whole is kept all the same.
func TestWithoutASummaryOfResultsTheyAreCutAndMasked(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]*Reply{
		"nothing":       nil,
		"another thing": {Message: modelSays("There is nothing to be said about these results of tools."), Stop: StopEnd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, kept := 0, resultKeeper{}
			core := newCore(fitModel(30_000), Limits{}, Room{Keep: kept.keep})
			out, did := mustFit(t, core.query(func(context.Context, *Request) (*Reply, error) { asked++; return reply, nil }), "", lookedAround(10, 3000))
			if asked != 1 || !strings.Contains(did.Actions, "mask") || len(kept) == 0 {
				t.Errorf("asked %d times, %d kept: %s", asked, len(kept), did.Actions)
			}
			for where := range kept {
				if !strings.Contains(fmt.Sprint(out), where) {
					t.Errorf("nothing says where %s is", where)
				}
			}
		})
	}
}

// Where lines about results would not be short enough the one call goes to the turns, with what their results say; these are kept too.
func TestTurnsThatAreSummarisedSayWhereTheirResultsAre(t *testing.T) {
	t.Parallel()
	asked, kept := 0, resultKeeper{}
	core := newCore(fitModel(30_000), Limits{}, Room{Keep: kept.keep})
	out, did := mustFit(t, core.query(func(_ context.Context, r *Request) (*Reply, error) {
		asked++
		if !strings.Contains(r.Messages[0].Text, "RESULT logs: pod 0: ") {
			t.Errorf("it was shown %.300q", r.Messages[0].Text)
		}
		return &Reply{Message: modelSays(goodSummary), Stop: StopEnd}, nil
	}), "", lookedAround(36, 750))
	if asked != 1 || !strings.Contains(did.Actions, "(model)") || len(kept) == 0 {
		t.Errorf("asked %d times, %d kept: %s", asked, len(kept), did.Actions)
	}
	found := 0
	for where := range kept {
		if strings.Contains(fmt.Sprint(out), where) {
			found++
		}
	}
	if found < min(12, len(kept)) {
		t.Errorf("of %d results %d can be found", len(kept), found)
	}
}
