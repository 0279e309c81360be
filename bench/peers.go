package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
)

// A child is a process that is spoken with over its standard streams. Its input is its leash: it ends when that closes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log bytes.Buffer // its standard error, where that goes nowhere else
}

func start(cmd *exec.Cmd) *child {
	c := &child{cmd: cmd}
	if cmd.Stderr == nil {
		cmd.Stderr = &c.log
	}
	c.in = must(cmd.StdinPipe())
	c.out = bufio.NewReaderSize(must(cmd.StdoutPipe()), 1<<20)
	check(cmd.Start())
	return c
}

func (c *child) stop() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait()
}

// role starts this program in another role, until the benchmark ends.
func (o *Out) role(args ...string) *child {
	cmd := exec.CommandContext(o.ctx, must(os.Executable()), args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has folders to remove
	c := start(cmd)
	o.Cleanup(c.stop)
	return c
}

// post sends JSON.
func post(ctx context.Context, url string, header map[string]string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return postBytes(ctx, http.DefaultClient, url, header, text)
}

func postBytes(ctx context.Context, client *http.Client, url string, header map[string]string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return client.Do(r)
}
