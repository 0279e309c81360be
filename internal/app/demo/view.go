package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// view shows the demo, line by line, as well on a terminal as in a log.
type view struct {
	mu     sync.Mutex
	w      io.Writer
	colour bool
	titled bool // the scene's title is not its question
	// showRun writes the report of a run.
	showRun func(w io.Writer, colour bool, r journal.Report)
}

func (v *view) style(code, text string) string {
	if !v.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// line writes a line; nothing if the view has no writer.
func (v *view) line(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.w != nil {
		fmt.Fprintf(v.w, format+"\n", args...)
	}
}

// opening writes what is real and what is not.
func (v *view) opening(s *stage) {
	v.line("%s %s; %s", v.style(bold, "plimsoll demo:"), s.what, s.model)
	if s.sim != nil {
		n := s.sim.Counts()
		v.line("  %s %s, %s, %s, %s", v.style(dim, "there are"), limit.Count(n.Applications, "application"), limit.Count(n.Projects, "project"), limit.Count(n.ApplicationSets, "application set"), limit.Count(n.Clusters, "cluster"))
	}
	window := ""
	if s.stand != nil {
		window = fmt.Sprintf("; a window of %d tokens", s.window)
	}
	v.line("  %s the agent, under `plimsoll run`: %s of memory%s", v.style(dim, "limited  "), memory.Human(), window)
}

// scene writes the title of a scene, or else its question, with its number and the danger it shows.
func (v *view) scene(i, of int, s script) {
	what := s.title
	if what == "" {
		what = strconv.Quote(s.question)
	}
	v.titled = s.title != ""
	v.line("\n%s %s", v.style(bold, fmt.Sprintf("%d/%d  %s", i, of, what)), v.style(dim, "("+s.danger+")"))
}

// event shows what the agent does, as its journal tells it.
func (v *view) event(e heardEvent) {
	if answer, ok := strings.CutPrefix(e.Kind, answerEvent); ok {
		v.answer(answer)
		return
	}
	if question, ok := strings.CutPrefix(e.Kind, questionEvent); ok {
		if v.titled {
			v.line("     %s", v.style(dim, "» "+printable.Name(question)))
		}
		return
	}
	x := e.Event
	switch e.Kind {
	case "agent.called":
		text := fmt.Sprintf("→ %s: %s in %s", printable.Name(x.Tool), limit.Bytes(x.Bytes).Human(), x.Duration.Round(time.Millisecond))
		if x.Failed {
			text = fmt.Sprintf("→ %s: failed after %s", printable.Name(x.Tool), x.Duration.Round(time.Millisecond))
		}
		if x.Why != "" {
			text += " (" + printable.Name(x.Why) + ")"
		}
		v.line("     %s", v.style(dim, text))
	case "agent.room":
		v.line("     %s", v.style(yellow, fmt.Sprintf("the conversation is shortened: %d of %d tokens now", x.Tokens, x.Limit)))
	case "agent.loop":
		what := "it repeats itself, and is told so"
		if x.Ended {
			what = "it goes on repeating itself, and is ended"
		}
		v.line("     %s", v.style(yellow, what))
	case "agent.retry":
		v.line("     %s", v.style(yellow, "the model is asked again"))
	case "agent.queue_closed":
		v.line("     %s", v.style(dim, "the client has gone; the agent goes on"))
	case "agent.queue_reopened":
		v.line("     %s", v.style(dim, fmt.Sprintf("the client is back: %s waited for it, %d were dropped", limit.Count(x.Missed, "event"), x.Dropped)))
	}
}

// maxLines bounds the lines of an answer that are shown.
const maxLines = 6

// answer writes the first maxLines lines of an answer, each shortened, and how many more there are.
func (v *view) answer(text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if i == maxLines {
			v.line("     %s %s", v.style(dim, "│"), v.style(dim, fmt.Sprintf("… %d further lines", len(lines)-i)))
			return
		}
		v.line("     %s %s", v.style(dim, "│"), printable.Name(limit.ShortRunes(line, 110)))
	}
}

func (v *view) verdict(s Scene) {
	mark := v.style(green, "✓")
	if !s.OK {
		mark = v.style(red, "✗")
	}
	v.line("   %s %s (%s)", mark, printable.Name(s.Note), printable.Duration(time.Duration(s.DurationMS)*time.Millisecond))
}

// report shows the report of the run as `plimsoll run` does.
func (v *view) report(r journal.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.w != nil {
		r.Project = "the demo's own directory"
		v.showRun(v.w, v.colour, r)
	}
}

// The colours of ISO 6429.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// show starts `plimsoll watch` on what the demo has left, tells the address of the run's page, and waits until ctx or the dashboard ends.
func (s *stage) show(ctx context.Context, tell func(address string)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "watch")
	cmd.Env, cmd.Dir, cmd.Stderr = s.environ, s.dir, s.said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start the dashboard: %w", err)
	}
	address, readErr := bufio.NewReader(out).ReadString('\n')
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if readErr != nil {
		return fmt.Errorf("the dashboard did not start: %w\n%s", <-ended, s.said)
	}
	tell(strings.TrimSpace(address) + s.runPage())
	select {
	case err := <-ended: // on a terminal, Ctrl-C reaches it as well
		if ctx.Err() == nil && err != nil {
			return fmt.Errorf("the dashboard has ended: %w\n%s", err, s.said)
		}
		return nil
	case <-ctx.Done():
	}
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = cmd.Process.Kill() // Windows has no such signal
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return nil
}

// runPage returns the part of the dashboard's URL that leads to the page of the run; "" if the run cannot be read.
func (s *stage) runPage() string {
	store, err := runs.Open(filepath.Join(s.dir, "state"))
	if err != nil {
		return ""
	}
	defer store.Close()
	if err := store.Poll(); err != nil {
		return ""
	}
	for _, e := range store.Entries() {
		if e.Tool == runTool {
			return "#/run/" + e.ID
		}
	}
	return ""
}
