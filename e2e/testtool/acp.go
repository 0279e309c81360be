//go:build linux || darwin

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// acpAgent acp speaks the Agent Client Protocol. A prompt says what it does: a word below, and nothing else is answered at once. What it is sent as
// session/new goes to the file $SESSION.
func acpAgent([]string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	answer := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Prompt []struct{ Text string }
			}
		}
		check(json.Unmarshal(in.Bytes(), &m))
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":1}`)
		case "session/new":
			check(os.WriteFile(os.Getenv("SESSION"), in.Bytes(), 0o600))
			answer(m.ID, `{"sessionId":"s1"}`)
			fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"usage_update","used":1200,"size":200000}}}`)
		case "session/prompt":
			do(m.Params.Prompt[0].Text)
			answer(m.ID, `{"stopReason":"end_turn"}`)
		}
	}
}

func do(text string) {
	switch word, rest, _ := strings.Cut(text, " "); word {
	case "hang":
		time.Sleep(time.Hour)
	case "exit":
		os.Exit(3)
	case "die":
		check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		time.Sleep(time.Minute)
	case "eat":
		var held [][]byte
		for range 4096 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		fmt.Fprintln(os.Stderr, "ate", len(held))
	case "run": // a tool of the agent's
		_ = exec.Command("/bin/sh", "-c", rest).Run()
	}
}
