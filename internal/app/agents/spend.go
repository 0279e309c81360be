package agents

import (
	"context"
	"errors"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/window/wire"
)

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

// withBudget returns the model with the budgets in force, which closer ends; the model as it is where there are none. Inside a run whose proxy
// the model is asked through, the proxy asks the budgets.
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

// Generate implements [agent.Model].
func (m *boundedModel) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	info := m.Info()
	price, priced := m.price(m.upstream, info.Name)
	hold, err := m.meter.Hold(ctx, spend.Request{Model: info.Name, Input: sizeOf(r) / 4, MaxOutput: r.MaxOutput, Price: price, Priced: priced})
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
		m.meter.Seen(int64(u.Output), int64(u.Input), int64(u.Cached))
		hold.Settle(spend.Amount{Tokens: int64(u.Input + u.Output), Cost: price.Of(u.Input, u.Cached, 0, 0, u.Output)})
	case err == nil || said > 0: // it began to answer, and nothing tells what that has cost
		hold.Settle(spend.Amount{Tokens: int64(sizeOf(r)+said) / 4, Cost: price.Of(sizeOf(r)/4, 0, 0, 0, said/4)})
	}
	return reply, err
}

// sizeOf returns the bytes of a request, of which about four are a token.
func sizeOf(r *agent.Request) int {
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
