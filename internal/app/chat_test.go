package app_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/agents"
)

// The answer is in the window too, however many steps it took: a person who watches how full it is must not be told less.
func TestTheWindowOfAChatHasTheAnswerToo(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	a := newCore(t, home, "PLIMSOLL_MCP_ARGOCD_SIMULATOR=30,3,3,1")
	o := agents.ChatOptions{}
	o.Model = "standin"
	c, err := agents.OpenChat(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	asked := 0
	r, err := c.Ask(t.Context(), "list all applications", func(e agents.Event) {
		if e.Kind == agent.EventStep {
			asked = e.Tokens
		}
	})
	if err != nil || r.Steps < 2 {
		t.Fatalf("%+v, %v: the question needs several steps", r, err)
	}
	if r.Last.Output <= 0 || r.Last.Output >= r.Usage.Output {
		t.Errorf("the answer had %d of %d tokens", r.Last.Output, r.Usage.Output)
	}
	if c.InWindow != asked+r.Last.Output {
		t.Errorf("%d tokens are in the window, %d were asked and %d answered", c.InWindow, asked, r.Last.Output)
	}
}
