package gemini_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

func ExampleNew() {
	// In the place of Google: leave BaseURL out, and set Key.
	service := httptest.NewServer(scripted.New(scripted.Options{
		Side: func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: "Hello to you, too."} },
	}))
	defer service.Close()

	m, err := gemini.New(gemini.Options{BaseURL: service.URL, Model: "gemini-2.5-pro"})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := m.Generate(context.Background(), &agent.Request{
		System:   "You are polite.",
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Hello!"}},
	}, func(piece string) { fmt.Print(piece) })
	if err != nil {
		fmt.Println(err) // names the model, the address, and what to do
		return
	}
	fmt.Println()
	fmt.Println(reply.Stop)
	// Output:
	// Hello to you, too.
	// end
}
