package agents

import (
	"context"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/config"
)

// slow is a model that answers when it is told to.
type slow struct{ asked, answer chan struct{} }

func (slow) Info() agent.ModelInfo {
	return agent.ModelInfo{Provider: "openai", Name: "slow", Window: 8000}
}

func (m slow) Generate(context.Context, *agent.Request, func(string)) (*agent.Reply, error) {
	m.asked <- struct{}{}
	<-m.answer
	return &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: "Done."}, Stop: agent.StopEnd}, nil
}

func TestTheMemoryOfAQueryIsToldWhileItRuns(t *testing.T) {
	m := slow{make(chan struct{}), make(chan struct{})}
	a, err := agent.New(agent.Options{Name: "helper", Model: m})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d := &Daemon{agents: []*servedAgent{{openedAgent: &openedAgent{config: config.Agent{Name: "helper"}, agent: a}}}}
	run, err := a.Start(t.Context(), agent.Query{Text: strings.Repeat("word ", 2000)})
	if err != nil {
		t.Fatal(err)
	}
	<-m.asked
	if now := d.Now(); len(now) != 1 || now[0].Name != "helper" || now[0].Memory < 10_000 {
		t.Errorf("while it runs: %+v", now)
	}
	close(m.answer)
	run.Wait()
	if now := d.Now(); now[0].Memory != 0 {
		t.Errorf("afterwards: %+v", now)
	}
}
