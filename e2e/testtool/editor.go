//go:build linux || darwin

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// editor FILE COMMAND... starts an agent as editors do, in a session of its own with pipes, writes its pid to FILE, and goes on
// until it is killed. At SIGUSR1 it closes the agent's standard input.
func editor(args []string) {
	c := exec.Command(args[1], args[2:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := c.StdinPipe()
	check(err)
	out, err := c.StdoutPipe()
	check(err)
	closing := make(chan os.Signal, 1)
	signal.Notify(closing, syscall.SIGUSR1)
	check(c.Start())
	note(args[0], fmt.Sprintln("agent", c.Process.Pid))
	go func() {
		<-closing
		_ = in.Close()
	}()
	if says := os.Getenv("EDITOR_SAYS"); says != "" {
		_, err := io.WriteString(in, says)
		check(err)
	}
	hears := io.Discard
	if file := os.Getenv("EDITOR_HEARS"); file != "" {
		f, err := os.Create(file)
		check(err)
		hears = f
	}
	_, _ = io.Copy(hears, out)
	select {}
}

// tally FILE writes where it is to FILE, and every signal that comes, and ends at none of them. It starts a child in a session of its
// own, as agents start the commands of a model.
func tally(args []string) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGUSR1)
	self, err := os.Executable()
	check(err)
	tool := exec.Command(self, "idle")
	tool.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(tool.Start())
	session, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	if errno != 0 {
		check(errno)
	}
	note(args[0], fmt.Sprintln("group", syscall.Getpgrp(), "session", session))
	for s := range c {
		note(args[0], fmt.Sprintln("signal", int(s.(syscall.Signal))))
	}
}

func note(file, text string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	check(err)
	_, err = f.WriteString(text)
	check(err)
	check(f.Close())
}

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
