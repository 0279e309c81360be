package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// soakLoad holds the load on the two servers and its results.
type soakLoad struct {
	agent, daemon string

	mu    sync.Mutex
	kinds []soakCount
	lost  []error
	left  []string // tasks whose client went away
	// died are the moments at which a tool server crashed, the last few.
	died []time.Time
}

// soakCount counts the things of one kind that were begun, and those that ended as they should.
type soakCount struct {
	name        string
	begun, well int
}

// maxSoakLost bounds the losses that are told one by one, maxSoakLeft the tasks that are looked for at the end.
const maxSoakLost, maxSoakLeft = 20, 200

// count counts an operation of a kind as begun, and as well ended if err is nil; else err is kept, at most maxSoakLost of them.
func (l *soakLoad) count(name string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.kinds, func(c soakCount) bool { return c.name == name })
	if i < 0 {
		i, l.kinds = len(l.kinds), append(l.kinds, soakCount{name: name})
	}
	l.kinds[i].begun++
	if err == nil {
		l.kinds[i].well++
	} else if len(l.lost) < maxSoakLost {
		l.lost = append(l.lost, fmt.Errorf("%s: %w", name, err))
	}
}

// soakQuestions are the questions that each of the users asks the agent in turn.
var soakQuestions = []struct {
	name, text string
	// leaves: the client goes away behind the first event; returns: it comes back for the rest; cancels: it takes the question back.
	leaves, returns, cancels bool
}{
	{name: "short question", text: "echo hello"},
	{name: "large list", text: "list all applications"},
	{name: "client that leaves", text: "list all applications", leaves: true},
	{name: "large result", text: "flood 2 MiB"},
	{name: "tool that fails", text: "fail"},
	{name: "client that comes back", text: "list all clusters", leaves: true, returns: true},
	{name: "short question", text: "count to 3"},
	{name: "tool that hangs, taken back", text: "hang", leaves: true, cancels: true},
	{name: "tool that takes memory", text: "build 16 MiB"},
}

// askQuestions asks the agent one question after the other until loading is over, some of which are cancelled, left or come back to, and
// counts how each ended.
func (l *soakLoad) askQuestions(ctx, loading context.Context, user int) {
	for n := user; loading.Err() == nil; n++ {
		q := soakQuestions[n%len(soakQuestions)]
		task, ended, err := l.readEvents(ctx, "SendStreamingMessage", map[string]any{"message": map[string]any{
			"messageId": fmt.Sprintf("soak-%d-%d", user, n), "role": "ROLE_USER", "parts": []any{map[string]any{"text": q.text}},
		}}, q.leaves)
		switch {
		case err != nil:
		case q.cancels:
			time.Sleep(200 * time.Millisecond)
			if _, err = l.callMethod(ctx, "CancelTask", map[string]any{"id": task}); err == nil {
				err = l.waitForEnd(ctx, task)
			}
		case q.returns:
			if _, ended, err = l.readEvents(ctx, "SubscribeToTask", map[string]any{"id": task}, false); err != nil || !ended {
				err = l.waitForEnd(ctx, task) // it may have ended before
			}
		case q.leaves:
			l.mu.Lock()
			l.left = append(l.left[max(0, len(l.left)+1-maxSoakLeft):], task)
			l.mu.Unlock()
		case !ended:
			err = errors.New("its stream ended before the task")
		}
		l.count(q.name, err)
	}
}

var (
	soakTask = regexp.MustCompile(`"taskId":"([^"]+)"`)
	soakOver = regexp.MustCompile(`"state":"TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED)"`)
)

// readEvents calls a streaming method of the agent and reads the answer's events to their end, or with first only until one names the task.
// ended says whether an event was the task's last.
func (l *soakLoad) readEvents(ctx context.Context, method string, params any, first bool) (task string, ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, soakPatience)
	defer cancel()
	answer, err := l.ask(ctx, method, params)
	if err != nil {
		return "", false, err
	}
	defer answer.Body.Close()
	in := bufio.NewReader(answer.Body)
	for {
		line, err := in.ReadBytes('\n')
		if id := soakTask.FindSubmatch(line); id != nil {
			task = string(id[1])
		}
		ended = ended || soakOver.Match(line)
		switch {
		case first && task != "":
			return task, ended, nil
		case errors.Is(err, io.EOF):
			if task == "" {
				return "", false, fmt.Errorf("status %d and no task: %.200s", answer.StatusCode, line)
			}
			return task, ended, nil
		case err != nil:
			return task, ended, err
		}
	}
}

// waitForEnd waits until a task has ended, at most soakPatience.
func (l *soakLoad) waitForEnd(ctx context.Context, task string) error {
	var body []byte
	for end := time.Now().Add(soakPatience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var err error
		if body, err = l.callMethod(ctx, "GetTask", map[string]any{"id": task}); err != nil {
			return err
		}
		if soakOver.Match(body) || bytes.Contains(body, []byte("-32001")) { // not found: only those that have ended make room
			return nil
		}
	}
	return fmt.Errorf("task %s does not end: %.300s", task, body)
}

// checkLeft waits for the end of the tasks whose clients went away, and counts them.
func (l *soakLoad) checkLeft(ctx context.Context) {
	l.mu.Lock()
	left := l.left
	l.mu.Unlock()
	for _, task := range left {
		l.count("task of a client that left", l.waitForEnd(ctx, task))
	}
}

// callMethod calls a method of the agent and returns the body of the answer.
func (l *soakLoad) callMethod(ctx context.Context, method string, params any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, soakPatience)
	defer cancel()
	answer, err := l.ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// ask sends the agent a request of A2A.
func (l *soakLoad) ask(ctx context.Context, method string, params any) (*http.Response, error) {
	return post(ctx, l.agent+"/a2a/argocd", map[string]string{"A2A-Version": "1.0"}, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// soakMetric returns a figure that a server tells of itself, 0 where it tells none.
func soakMetric(url, name string) (value float64) {
	answer, err := http.Get(url + "/metrics")
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	in := bufio.NewScanner(answer.Body)
	for in.Scan() {
		if rest, ok := strings.CutPrefix(in.Text(), name+" "); ok {
			_, _ = fmt.Sscan(rest, &value)
		}
	}
	return value
}

// askModels asks models through the daemon until loading is over: conversations that grow, streamed. After each request, failed or not, the next
// question follows, and every ninth answer is left unread. A broken stream and a status from 500 are no failures.
func (l *soakLoad) askModels(ctx, loading context.Context, user int) {
	path, body := "/openai/v1/chat/completions", map[string]any{"model": "gpt-4o", "stream": true}
	if user%2 == 1 {
		path, body = "/anthropic/v1/messages", map[string]any{"model": "claude-sonnet-4-5", "stream": true, "max_tokens": 1000}
	}
	var said []any
	for n := 0; loading.Err() == nil; n++ {
		if len(said) > 60 {
			said = nil
		}
		said = append(said, map[string]any{"role": "user", "content": fmt.Sprintf("question %d of %d: %s", n, user, strings.Repeat("and so on, ", 400))})
		body["messages"] = said
		l.count("request to a model", l.askModel(ctx, path, body, n%9 == 8))
		said = append(said, map[string]any{"role": "assistant", "content": "The task is done."})
	}
}

// askModel sends one request to a model and reads the answer, or with leaves only its head.
func (l *soakLoad) askModel(ctx context.Context, path string, body map[string]any, leaves bool) error {
	ctx, cancel := context.WithTimeout(ctx, soakPatience)
	defer cancel()
	answer, err := post(ctx, l.daemon+path, map[string]string{"Authorization": "Bearer soak", "X-Api-Key": "soak", "Anthropic-Version": "2023-06-01"}, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if leaves {
		return nil
	}
	text, err := io.ReadAll(answer.Body)
	switch {
	case answer.StatusCode >= http.StatusInternalServerError, err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil // as the provider broke it off
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d: %.200s", answer.StatusCode, text)
	}
	return nil
}

// callTools calls an MCP server of the daemon until loading is over. If the server crashes, only the calls that are under way may fail.
func (l *soakLoad) callTools(ctx, loading context.Context, server string, user int) {
	var session *mcp.ClientSession
	for n := user; loading.Err() == nil; n++ {
		if session == nil {
			var err error
			if session, err = l.session(ctx, server); err != nil {
				l.count("session of "+server, err)
				time.Sleep(time.Second)
				continue
			}
		}
		call := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}}
		switch n % 8 {
		case 3:
			call = &mcp.CallToolParams{Name: "big", Arguments: map[string]any{"bytes": 1 << 20}}
		case 5:
			call = &mcp.CallToolParams{Name: "error"}
		case 7:
			call = &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"ms": 300, "steps": 3}}
		}
		began := time.Now()
		result, err := callTool(ctx, session, call)
		if err == nil && result.IsError && call.Name != "error" {
			text, _ := json.Marshal(result.Content)
			err = fmt.Errorf("%s: %.300s", call.Name, text)
		}
		if server == "crashes" && l.crashed(began) {
			err = nil // it was in the server when that crashed
		}
		l.count("call to the "+server+" server", err)
		if err != nil || n%40 == 39 {
			_ = session.Close()
			session = nil
		}
	}
	if session != nil {
		_ = session.Close()
	}
}

func (l *soakLoad) session(ctx context.Context, server string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: l.daemon + "/mcp/" + server}, nil)
}

func callTool(ctx context.Context, session *mcp.ClientSession, call *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, soakPatience)
	defer cancel()
	return session.CallTool(ctx, call)
}

// crashed reports whether the server has crashed since a call began, or just before.
func (l *soakLoad) crashed(since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.died, func(t time.Time) bool { return t.After(since.Add(-time.Second)) })
}

// crashing notes that the server crashes about now.
func (l *soakLoad) crashing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.died = append(l.died[max(0, len(l.died)-7):], time.Now())
}

// crashServers makes the server "crashes" end every 5 seconds until loading is over, and counts the crashes.
func (l *soakLoad) crashServers(ctx, loading context.Context) {
	for {
		select {
		case <-loading.Done():
			return
		case <-time.After(5 * time.Second):
		}
		session, err := l.session(ctx, "crashes")
		if err != nil {
			l.count("session of crashes", err)
			continue
		}
		l.crashing()
		_, err = callTool(ctx, session, &mcp.CallToolParams{Name: "die"})
		l.crashing()
		if !errors.Is(err, context.DeadlineExceeded) {
			err = nil // the call ends with the server
		}
		l.count("crash", err)
		_ = session.Close()
	}
}
