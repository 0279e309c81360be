package collector_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plimsoll is the binary under test; server is an MCP server.
var plimsoll, server string

func TestMain(m *testing.M) {
	if os.Getenv("COLLECTOR_TEST_AGENT") != "" {
		if err := agent(); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "plimsoll-collector-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plimsoll, server = filepath.Join(dir, "plimsoll"), filepath.Join(dir, "standalone")
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/plimsoll", "./internal/testing/toolserver/standalone")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// agent is the program that `plimsoll run` starts here, this test's own binary: it asks a model at the address that it is given, and
// calls a tool of an MCP server through a gateway on standard streams.
func agent() error {
	answer, err := ask(os.Getenv("OPENAI_BASE_URL"), "gpt-4o")
	if err != nil {
		return err
	}
	if os.Getenv("COLLECTOR_TEST_AGENT") == "ask" {
		_, err = os.Stdout.Write(answer)
		return err
	}
	gateway := exec.Command(os.Getenv("COLLECTOR_TEST_PLIMSOLL"), "mcp", "--name", "things", "--", os.Getenv("COLLECTOR_TEST_SERVER"))
	gateway.Stderr = os.Stderr
	in, err := gateway.StdinPipe()
	if err != nil {
		return err
	}
	out, err := gateway.StdoutPipe()
	if err != nil {
		return err
	}
	if err := gateway.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	for _, message := range []string{initialize, initialized, call(2, "echo", "")} {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			return err
		}
		if message == initialized {
			continue
		}
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, `"result"`) {
			return fmt.Errorf("%s: %q, %w", message, line, err)
		}
	}
	if err := in.Close(); err != nil {
		return err
	}
	return gateway.Wait()
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"collector-test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// call is a call of a tool, with a traceparent unless that is "".
func call(id int, tool, parent string) string {
	params := map[string]any{"name": tool, "arguments": map[string]any{"text": "the words of a secret argument"}}
	if parent != "" {
		params["_meta"] = map[string]any{"traceparent": parent}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ask makes a request to a model by OpenAI's protocol, and returns the bytes of the answer.
func ask(base, model string) ([]byte, error) {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"the words of a secret question"}]}`, model)
	req, err := http.NewRequest(http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer sk-test-0123456789abcdef"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = fmt.Errorf("the model answers %d: %s", res.StatusCode, text)
	}
	return text, err
}
