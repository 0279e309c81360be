//go:build linux || darwin

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// A console is a pseudo-terminal of 80 by 24 with a program in it, and enough of a
// terminal's manners that full-screen programs start: it answers the questions they ask.
type console struct {
	t      *testing.T
	master *os.File
	slave  *os.File // held open, so that the settings outlive the program
	cmd    *exec.Cmd
	before *term.State

	mu     sync.Mutex
	output []byte        // everything so far
	more   chan struct{} // closed and renewed at each read
	seen   int           // how much of output expect has gone past
	ended  chan struct{} // closed once the program has been waited for
	status int           // as a shell sees it; after ended
}

// open starts argv in a new console. The console is closed and the program ended with
// the test.
func (w *world) open(more []string, argv ...string) *console {
	t := w.t
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatalf("no pseudo-terminal: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, master: master, slave: slave, more: make(chan struct{}), ended: make(chan struct{})}
	c.before = c.settings()
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Env = w.work, w.environment(more...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{})
	go func() { defer close(reading); c.read() }()
	go func() {
		_ = c.cmd.Wait()
		c.status = status(c.cmd.ProcessState)
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		for _, p := range w.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // they may hold the terminal open
		}
		slave.Close()
		master.Close()
		<-reading
	})
	return c
}

// answers are what a terminal says when asked; keyed by the question.
var answers = []struct{ question, answer string }{
	{"\x1b[6n", "\x1b[1;1R"},                                   // where is the cursor
	{"\x1b[c", "\x1b[?62;22c"},                                 // what are you: a VT220 with colour
	{"\x1b[?u", "\x1b[?0u"},                                    // keyboard protocol: the plain one
	{"\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"},          // foreground
	{"\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"},          // background
	{"\x1b[>0q", "\x1bP>|e2e(1)\x1b\\"},                        // name and version
	{"\x1b[?2026$p", "\x1b[?2026;2$y"}, {"\x1b[5n", "\x1b[0n"}, // synchronised output; are you well
}

// longestQuestion is what the longest of them has without its last byte, in bytes.
const longestQuestion = 8

func (c *console) read() {
	buf := make([]byte, 64<<10)
	unasked := "" // the end of what was read before: a question may come in two pieces
	for {
		n, err := c.master.Read(buf)
		if n > 0 {
			c.mu.Lock()
			c.output = append(c.output, buf[:n]...)
			close(c.more)
			c.more = make(chan struct{})
			c.mu.Unlock()
			text, asked := unasked+string(buf[:n]), 0
			for _, a := range answers {
				if i := strings.LastIndex(text, a.question); i >= 0 {
					_, _ = c.master.WriteString(a.answer)
					asked = max(asked, i+len(a.question))
				}
			}
			unasked = text[max(asked, len(text)-longestQuestion):]
		}
		if err != nil {
			return // EIO: the other side is closed
		}
	}
}

// controls are the sequences that move and colour, which a reader of words does not see.
var controls = regexp.MustCompile(`\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[P_X^][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()#][A-Z0-9]|\x1b[=>78cDEHMNOZ]|[\x00-\x08\x0b-\x0c\x0e-\x1f]`)

// squeezed is text as expect compares it: no controls, and no white space, because
// programs draw a gap between two words by moving the cursor.
func squeezed(text string) string {
	return strings.Join(strings.Fields(controls.ReplaceAllString(text, " ")), "")
}

// expect waits until text has appeared since the last expect.
func (c *console) expect(text string) {
	c.t.Helper()
	want := squeezed(text)
	end := time.After(patience)
	for {
		c.mu.Lock()
		fresh, more := string(c.output[c.seen:]), c.more
		c.mu.Unlock()
		if got := squeezed(fresh); strings.Contains(got, want) {
			// Go past it to the shortest prefix that holds it, so that a text that has
			// come already is not lost to the next expect.
			low, high := 0, len(fresh)
			for low < high {
				if mid := (low + high) / 2; strings.Contains(squeezed(fresh[:mid]), want) {
					high = mid
				} else {
					low = mid + 1
				}
			}
			c.mu.Lock()
			c.seen += high
			c.mu.Unlock()
			return
		}
		select {
		case <-more:
		case <-end:
			c.t.Fatalf("%q did not appear within %v; the terminal shows\n%s", text, patience, c.shows())
		}
	}
}

// shows is everything so far, without controls: all of it, since tests look for words in it.
func (c *console) shows() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return controls.ReplaceAllString(string(c.output), " ")
}

// press types keys.
func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
	enter = "\r"
)

// wait returns the program's status once it has ended.
func (c *console) wait() int {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("%q has not ended within %v; the terminal shows\n%s", short(c.cmd.Args), patience, c.shows())
	}
	return c.status
}

// settings are the terminal's modes (echo, canonical input, control characters...).
func (c *console) settings() *term.State {
	c.t.Helper()
	state, err := term.GetState(int(c.slave.Fd()))
	if err != nil {
		c.t.Fatal(err)
	}
	return state
}

// restored fails the test unless the terminal's modes are what they were at the start.
func (c *console) restored() {
	c.t.Helper()
	if now := c.settings(); !reflect.DeepEqual(c.before, now) {
		c.t.Errorf("the terminal was left changed:\nbefore %+v\nafter  %+v", *c.before, *now)
	}
}

// leftEdge checks that every line break puts the cursor to the left edge: where one does not, lines go down in stairs.
func (c *console) leftEdge() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := bytes.Index(bytes.ReplaceAll(c.output, []byte("\r\n"), nil), []byte("\n")); at >= 0 {
		c.t.Errorf("a line break does not begin at the left edge; the terminal got %q", clip(string(c.output)))
	}
}

// resize gives the terminal a new size; the kernel tells the foreground group.
func (c *console) resize(columns, rows uint16) {
	c.t.Helper()
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		c.t.Fatal(err)
	}
}
