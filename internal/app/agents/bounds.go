package agents

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
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
			if n, ok := oomKills(filepath.Join(c.Dir, name)); ok {
				m.Kills, m.Source = n, c.Dir
				break
			}
		}
	}
	if m.Limit == 0 {
		if n, ok := oomKills("/proc/vmstat"); ok {
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

// boundedModel is a model whose requests count against the budgets.
type boundedModel struct {
	agent.Model
	meter    *spend.Meter
	price    core.PriceOf
	upstream string
}

// boundedEncoder is a boundedModel that shows its bodies.
type boundedEncoder struct {
	*boundedModel
	encoder agent.Encoder
}

func (m boundedEncoder) Encode(r *agent.Request) (*wire.Request, error) { return m.encoder.Encode(r) }

// withBudget returns a model that asks the budgets in force before each request; closer closes their meter. It returns model unchanged if
// there are no budgets, if it is the stand-in, or if requests go through a run's proxy, which asks the budgets itself.
func withBudget(app *core.Core, s config.Settings, choice modelChoice, model agent.Model, closer *core.Closer) (agent.Model, error) {
	if choice.isStandin() || core.ThroughProxy(choice.url) {
		return model, nil
	}
	meter, err := app.OpenMeter(s, config.ProjectOf("").Key)
	if err != nil || meter == nil {
		return model, err
	}
	closer.Do(meter.Close)
	m := &boundedModel{Model: model, meter: meter, price: core.Prices(app.Config), upstream: choice.upstream()}
	if e, ok := model.(agent.Encoder); ok {
		return boundedEncoder{m, e}, nil
	}
	return m, nil
}

// Generate implements [agent.Model]. It reserves the expected cost of the request in the budgets first, and returns an [agent.ModelError] if
// they have no room.
func (m *boundedModel) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	info := m.Info()
	price, priced := m.price(m.upstream, info.Name)
	hold, err := m.meter.Hold(ctx, spend.Request{Model: info.Name, Input: requestBytes(r) / 4, MaxOutput: r.MaxOutput, Price: price, Priced: priced})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		failure := agent.Refused
		if _, busy := errors.AsType[*spend.Busy](err); busy {
			failure = agent.Busy
		}
		return nil, &agent.ModelError{Model: info, Failure: failure, Text: err.Error(), Err: err}
	}
	defer hold.Release()
	said := 0
	reply, err := m.Model.Generate(ctx, r, func(piece string) {
		said += len(piece)
		text(piece)
	})
	switch {
	case err == nil && (reply.Usage.Input > 0 || reply.Usage.Output > 0):
		u := reply.Usage
		m.meter.AddAnswer(int64(u.Output), int64(u.Input), int64(u.Cached))
		hold.Settle(spend.Amount{Tokens: int64(u.Input + u.Output), Cost: price.Of(u.Input, u.Cached, 0, 0, u.Output)})
	case err == nil || said > 0: // it began to answer, and nothing tells what that has cost
		hold.Settle(spend.Amount{Tokens: int64(requestBytes(r)+said) / 4, Cost: price.Of(requestBytes(r)/4, 0, 0, 0, said/4)})
	}
	return reply, err
}

// requestBytes returns the size of a request in bytes: of its encoded form if there is one, else of its texts. About four bytes are a token.
func requestBytes(r *agent.Request) int {
	if body := r.Encoded(); body != nil {
		return len(body.Body)
	}
	n := len(r.System)
	for i := range r.Messages {
		m := &r.Messages[i]
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Arguments)
		}
	}
	return n
}
