package watch

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// maxQuestions bounds the questions that are shown, and maxAsked the runs that are read for them.
	maxQuestions = 200
	maxAsked     = 30
)

// question is a question that an agent was asked, with its result.
type question struct {
	Time time.Time
	Run  string
	journal.AgentQueryEnded
}

// task is a task of an agent over A2A.
type task struct {
	Agent string
	tasklog.Summary
}

// agentsPage returns the page with the newest tasks of all agents over A2A, and the newest questions to agents, also from the command line.
func agentsPage(s source) (dashboard.Page, bool) {
	return dashboard.TablesPage("agents", "Agents", func(context.Context) ([]*dashboard.Table, error) {
		tasks := &dashboard.Table{Title: "Tasks over A2A", Columns: []dashboard.Column{
			{Name: "State", Kind: dashboard.State}, {Name: "Agent"}, {Name: "Changed", Kind: dashboard.Time}, {Name: "Size", Kind: dashboard.Bytes}, {Name: "Task", Kind: dashboard.Code},
		}}
		asked := &dashboard.Table{Title: "Questions", Empty: "No agent was asked yet: plimsoll ask \"…\"", Columns: []dashboard.Column{
			{Name: "Outcome", Kind: dashboard.State},
			{Name: "Agent"},
			{Name: "When", Kind: dashboard.Time},
			{Name: "Took", Kind: dashboard.Duration},
			{Name: "Steps", Kind: dashboard.Count},
			{Name: "Calls", Kind: dashboard.Count},
			{Name: "Tokens in", Kind: dashboard.Tokens},
			{Name: "Tokens out", Kind: dashboard.Tokens},
			{Name: "Largest result", Kind: dashboard.Bytes},
			{Name: "Run", Kind: dashboard.RunID},
		}}
		list, err := tasksOf(s.core)
		for _, t := range list {
			state := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(t.State, "TASK_STATE_")), "_", " ")
			tasks.Add(state, t.Agent, t.Changed, t.Bytes, t.ID)
		}
		newest, asking := questions(s.core)
		for _, q := range newest {
			asked.Add(q.Outcome, q.Agent, q.Time, q.Duration.Milliseconds(), q.Steps, q.Calls, q.TokensIn, q.TokensOut, q.PeakBytes, q.Run)
		}
		return []*dashboard.Table{tasks, asked}, errors.Join(err, asking)
	}), true
}

const (
	// maxTasks bounds the tasks that are shown, maxAgents the agents whose tasks are read.
	maxTasks  = 200
	maxAgents = 100
)

// tasksOf returns the newest tasks of at most maxAgents agents, the newest first. What cannot be read of an agent is left out.
func tasksOf(c *core.Core) ([]task, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	names, err := os.ReadDir(filepath.Join(dir, "agents"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := []task{}
	for _, name := range names[:min(len(names), maxAgents)] {
		found, err := tasklog.Look(filepath.Join(dir, "agents", name.Name(), "tasks"), maxTasks)
		if err != nil {
			continue // somebody has put something else there; plimsoll serve tells of that
		}
		for _, t := range found {
			list = append(list, task{name.Name(), t})
		}
	}
	sorting.By(list, func(a, b task) int { return b.Changed.Compare(a.Changed) })
	return list[:min(len(list), maxTasks)], nil
}

// questions returns the newest questions to agents, the newest first, from at most maxAsked runs.
func questions(c *core.Core) ([]question, error) {
	s, err := Open(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list := []question{}
	read := 0
	for _, e := range s.Entries() {
		if e.Kind != runs.KindAsk && e.Kind != runs.KindChat && e.Kind != runs.KindServe {
			continue
		}
		if read++; read > maxAsked {
			break
		}
		r, err := s.Run(e.ID)
		if err != nil {
			continue // it was removed meanwhile
		}
		for _, rec := range r.Records {
			if q, ok := rec.Event.(journal.AgentQueryEnded); ok {
				q.Agent = cmp.Or(q.Agent, e.Variant)
				list = append(list, question{rec.Time, e.ID, q})
			}
		}
	}
	sorting.By(list, func(a, b question) int { return b.Time.Compare(a.Time) })
	return list[:min(len(list), maxQuestions)], nil
}
