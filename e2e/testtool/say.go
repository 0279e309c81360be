//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// say talks as Claude Code at a terminal does: it sends each line that is typed as a prompt to the address in ANTHROPIC_BASE_URL. "/new" begins
// another conversation, "/quit" ends it.
func say([]string) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	fmt.Println("say>")
	for in := bufio.NewScanner(os.Stdin); in.Scan() && in.Text() != "/quit"; {
		if in.Text() == "/new" {
			messages = nil
			fmt.Println("another conversation")
			continue
		}
		messages = append(messages, message{"user", in.Text()})
		body, err := json.Marshal(map[string]any{
			"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": messages, "tools": []any{map[string]any{"name": "Bash", "input_schema": map[string]any{"type": "object"}}},
			"system": []any{map[string]any{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197; cc_entrypoint=cli;"}},
		})
		check(err)
		r, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", bytes.NewReader(body))
		check(err)
		r.Header = http.Header{"User-Agent": {"claude-cli/2.1.197 (external, cli)"}, "X-Api-Key": {"key-of-the-user"}, "Content-Type": {"application/json"}}
		answer, err := http.DefaultClient.Do(r)
		check(err)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		fmt.Printf("answer %d: %s\n", len(messages), answer.Status)
		messages = append(messages, message{"assistant", "Done."})
	}
}
