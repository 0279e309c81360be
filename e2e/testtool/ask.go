//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// ask sends a question to the address in a variable, as a client of a model does: ask VARIABLE PATH. It prints the first
// line of the answer. With a FILE behind that it asks ten times a second until it is ended, and adds the lines to the file.
func ask(args []string) {
	base, err := url.Parse(os.Getenv(args[0]))
	check(err)
	if len(args) == 2 {
		fmt.Println(askOnce(base, args[1]))
		return
	}
	file, err := os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(err)
	for {
		_, err := fmt.Fprintln(file, askOnce(base, args[1]))
		check(err)
		time.Sleep(100 * time.Millisecond)
	}
}

func askOnce(base *url.URL, path string) string {
	conn, err := net.Dial("tcp", base.Host)
	check(err)
	defer conn.Close()
	body := `{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer key-of-the-user\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		strings.TrimSuffix(base.Path, "/")+path, base.Host, len(body), body)
	check(err)
	answer, err := io.ReadAll(conn)
	check(err)
	first, _, _ := strings.Cut(string(answer), "\r\n")
	return first
}

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
