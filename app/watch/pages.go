package watch

import (
	"cmp"
	"context"
	_ "embed" // scripts of pages
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/app/mcp"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/watch/dashboard"
	"github.com/plimsoll/plimsoll/watch/runs"
)

//go:embed pages/mcp.js
var mcpScript []byte

//go:embed pages/ledger.js
var ledgerScript []byte

//go:embed pages/agents.js
var agentsScript []byte

// pages are those of the dashboard beside runs and alerts, in the order of the menu.
func pages(c *core.Core, ledger Ledger) []dashboard.Page {
	list := []dashboard.Page{
		{Name: "mcp", Title: "MCP", Script: mcpScript, Data: func(context.Context) (any, error) {
			rows, err := mcp.Stats(c, "")
			if rows == nil {
				rows = []mcp.Size{}
			}
			return rows, err
		}},
		{Name: "agents", Title: "Agents", Script: agentsScript, Data: func(context.Context) (any, error) { return agentsNow(c) }},
	}
	if ledger != nil {
		list = append(list, dashboard.Page{Name: "ledger", Title: "Ledger", Script: ledgerScript, Data: ledger})
	}
	return list
}

const (
	// maxQuestions bounds the questions that are shown, and maxAsked the runs that are read for them.
	maxQuestions = 200
	maxAsked     = 30
)

// question is one that an agent was asked.
type question struct {
	Time time.Time `json:"time"`
	Run  string    `json:"run"`
	journal.AgentQueryEnded
}

// task is one that an agent has, or had, over A2A.
type task struct {
	Agent string `json:"agent"`
	tasklog.Summary
}

// agentsNow are the newest tasks of all agents, and the newest questions to them.
func agentsNow(c *core.Core) (any, error) {
	asked, err := questions(c)
	if err != nil {
		return nil, err
	}
	tasks, err := tasksOf(c)
	return struct {
		Tasks     []task     `json:"tasks"`
		Questions []question `json:"questions"`
	}{tasks, asked}, err
}

const (
	// maxTasks bounds the tasks that are shown, maxAgents the agents whose are.
	maxTasks  = 200
	maxAgents = 100
)

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
	slices.SortFunc(list, func(a, b task) int { return b.Changed.Compare(a.Changed) })
	return list[:min(len(list), maxTasks)], nil
}

// questions are the newest questions to agents.
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
	slices.SortFunc(list, func(a, b question) int { return b.Time.Compare(a.Time) })
	return list[:min(len(list), maxQuestions)], nil
}
