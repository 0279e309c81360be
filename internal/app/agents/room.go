package agents

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/limit"
)

// roomOf returns an agent's rules for making room: those of the settings of [window], as for the proxy, with the windows that earlier runs
// have learned. If an agent died for lack of memory, half of the window is used for a while, with a warning.
func roomOf(app *core.Core, plane *mcp.Plane, ended *deaths) agent.Room {
	w := plane.Settings.Window
	room := agent.Room{
		MinMessages: w.MinMessages, MaxToolOutput: limit.Bytes(max(w.MaxToolOutput, 0)), WholeResults: !w.CutResults, AfterRefusal: !w.Compact,
		Windows: window.Resolver(app, w, app.Warn),
	}
	room.Breaker = breaker.New(breaker.Options{Until: ended.Until})
	if ended.Halved() {
		app.Warn(window.Narrowed + "; this agent has to search before it lists")
	}
	return room
}

// SearchFirstName is the variable by which `run` tells Plimsoll's own agent that the last one died for lack of memory: it then searches
// before it lists.
const SearchFirstName = "PLIMSOLL_SEARCH_FIRST"

// sampleMemory returns the use and the limit of the control group with the smallest limit around this process, and the number of processes
// that the kernel has killed in it; without such a group the number on the machine.
func sampleMemory() (m liveMark) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		return m
	}
	for _, c := range r.Cgroups {
		if c.Limit <= 0 || c.Limit >= headroom.Unlimited || m.Limit > 0 && c.Limit >= m.Limit {
			continue
		}
		m.Limit, m.Used = c.Limit, max(0, c.Usage-c.InactiveFile)
		m.Kills, m.Source = 0, ""
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			if n, ok := killsOf(filepath.Join(c.Dir, name)); ok {
				m.Kills, m.Source = n, c.Dir
				break
			}
		}
	}
	if m.Limit == 0 {
		if n, ok := killsOf("/proc/vmstat"); ok {
			m.Kills, m.Source = n, "machine"
		}
	}
	return m
}

// patient tells the user when Open waits for a conversation that another process uses.
type patient struct {
	agent.Conversations
	tell func(string)
}

// Open implements [agent.Conversations].
func (p patient) Open(ctx context.Context, session string, existing bool) (agent.Conversation, error) {
	late := time.AfterFunc(time.Second, func() {
		p.tell(fmt.Sprintf("session %s is in use by another process: waiting for it", printable.Text(session)))
	})
	defer late.Stop()
	return p.Conversations.Open(ctx, session, existing)
}
