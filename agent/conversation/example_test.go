package conversation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
)

func Example() {
	dir, err := os.MkdirTemp("", "conversations")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := conversation.Open(conversation.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	c, err := store.Open(context.Background(), "monday", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = c.Append(agent.Message{Role: agent.RoleUser, Text: "Which applications are degraded?"})
	if err != nil {
		fmt.Println(err)
	}
	_ = c.Close()

	list, err := store.List()
	fmt.Println(list[0].Session, list[0].Messages, list[0].Title, err)
	// Output: monday 1 Which applications are degraded? <nil>
}
