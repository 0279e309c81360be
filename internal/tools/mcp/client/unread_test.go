package client

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// A server whose first answer cannot be read is silent for its client: standard error says whose line it is and why.
func TestFirstLineThatCannotBeReadIsTold(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, c := range map[string]struct{ wrote, told string }{
		"byte order mark":     {"\ufeff" + answer + "\n", "plimsoll: test: its standard output begins with a byte order mark"},
		"text before it":      {"Ready \x1b[2J> " + answer + "\n", "plimsoll: test: a message cannot be read because text stands before it on its line: Ready  [2J>"},
		"no newline":          {answer, "plimsoll: test: it has written a line to standard output that no newline ends"},
		"text on its line":    {"Ready\n" + answer + "\n", ""},
		"a long line of text": {"\ufeff" + strings.Repeat("x", 100<<10) + "\n", "plimsoll: test: its standard output begins with a byte order mark"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := &records{journal: journal.New(journal.Options{})}
				in, stdin := io.Pipe()
				stdout, out := io.Pipe()
				ended := make(chan struct{})
				s := Stdio(StdioOptions{Name: "test", Stderr: said, Launch: func(context.Context) (*Process, error) {
					go func() {
						defer close(ended)
						_, _ = in.Read(make([]byte, 1<<10))
						_, _ = io.WriteString(out, c.wrote)
						_, _ = io.Copy(io.Discard, in)
						_ = out.Close()
					}()
					return &Process{Stdin: stdin, Stdout: stdout, PID: 1, Kill: func() {}, Wait: func() (Exit, error) { <-ended; return Exit{}, nil }}, nil
				}})
				r := newReceiver()
				s.Send(t.Context(), request(t, "1", "initialize"), r)
				time.Sleep(time.Minute)
				if got := said.String(); !strings.HasPrefix(got, c.told) || (c.told == "") != (got == "") || strings.Count(got, "\n") > 1 {
					t.Errorf("standard error has %q", got)
				}
				_ = s.Close()
			})
		})
	}
}
