package run

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// speaker writes Plimsoll's own words to standard error: warnings always, progress and the
// report for a person at a terminal. It is safe for concurrent use.
type speaker struct {
	mu       sync.Mutex
	w        io.Writer
	hidden   *secrets.Values
	person   bool
	quiet    bool
	colour   bool
	width    func() int // of the terminal; nil for none
	unclosed bool       // a progress line without a line end is on the screen
	said     map[string]bool
	waited   bool      // progress was shown
	waitLine time.Time // when a line about waiting was written last
}

// newSpeaker returns a speaker for the user's standard error. On a terminal that draws escape sequences it writes for a person.
func newSpeaker(o *Options, hidden *secrets.Values) *speaker {
	terminal := o.StderrIsTerminal && drawsEscapes()
	return &speaker{
		w: printable.Undrawn(o.Stderr), hidden: hidden, person: terminal, quiet: o.Quiet,
		colour: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		width:  o.Width,
		said:   map[string]bool{},
	}
}

// wrap breaks lines at the width of the terminal; what follows is hang columns in.
func (s *speaker) wrap(text string, hang int) string {
	if !s.person || s.width == nil {
		return text
	}
	return printable.Wrap(text, s.width(), hang)
}

// Styles (ECMA-48 SGR).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	yellow = "33"
	green  = "32"
)

func (s *speaker) style(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// maxSaid bounds the warnings that are remembered so as not to be said twice.
const maxSaid = 64

// warn prints a warning once, and nothing under --quiet. The caller puts it into the report.
func (s *speaker) warn(text string) {
	if !s.quiet {
		s.alert(text)
	}
}

// alert prints a warning once, under --quiet too. Once maxSaid texts were said, further ones are printed each time.
func (s *speaker) alert(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[text] {
		return
	}
	if len(s.said) < maxSaid {
		s.said[text] = true
	}
	s.line(s.style(yellow, "plimsoll:") + " " + printable.Text(s.hidden.Text(text)))
}

// Write prints lines, which are whole lines of text.
func (s *speaker) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(strings.TrimSuffix(string(lines), "\n"))
	return len(lines), nil
}

// fail prints the reason why there was no run.
func (s *speaker) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range printable.ErrorLines(err, err.Error()) {
		s.line(s.style(red, "plimsoll:") + " " + printable.Text(s.hidden.Text(text)))
	}
}

// line writes one or more whole lines; the caller holds the lock.
func (s *speaker) line(text string) {
	s.clearLocked()
	text = s.wrap(text, printable.Hang)
	end := "\n"
	if s.person { // the terminal may be in raw mode
		text = strings.ReplaceAll(text, "\n", "\r\n")
		end = "\r\n"
	}
	_, _ = io.WriteString(s.w, text+end)
}

// waitLogEvery is the time between two lines of a waiting run where no terminal can be written over.
const waitLogEvery = time.Minute

// progress shows the place of a waiting run in the queue: in place on a terminal; elsewhere a line at the start, and then at most one a
// minute. Under --quiet it shows nothing.
func (s *speaker) progress(p admission.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	text := fmt.Sprintf("waiting for %s, %s, %d of %d in the queue%s (Ctrl-C gives up)", awaitedWords(p), roughly(p.For), p.Position, p.Of, heldBy(p))
	text = printable.Name(text) // it names the tool of another run
	if s.person {
		_, _ = fmt.Fprintf(s.w, "\r\x1b[K%s %s", s.style(dim, "plimsoll:"), text)
		s.unclosed, s.waited = true, true
		return
	}
	if s.waited && time.Since(s.waitLine) < waitLogEvery {
		return
	}
	s.waited, s.waitLine = true, time.Now()
	s.line("plimsoll: " + text)
}

// admitted removes the line about the place in the queue; without a terminal it prints instead how long the run has waited, if it did.
func (s *speaker) admitted(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
	if s.waited && !s.person {
		s.line("plimsoll: waited " + roughly(after) + ", starting now")
	}
}

// heldBy returns words for the run that has held for longest what p waits for; "" for none.
func heldBy(p admission.Progress) string {
	for _, h := range p.Terms.Holders {
		if h.State != admission.Holding || p.Reason == admission.ToolSlots && h.Tool != p.Tool {
			continue
		}
		if h.User != "" {
			return fmt.Sprintf(", held by %s of user %s", h.Tool, h.User)
		}
		return fmt.Sprintf(", held by %s (pid %d) since %s", h.Tool, h.Owner.PID, h.Since.Local().Format("15:04"))
	}
	return ""
}

// awaitedWords returns words for what a waiting run waits for.
func awaitedWords(p admission.Progress) string {
	switch p.Reason {
	case admission.Memory:
		return fmt.Sprintf("memory: %s more", p.Terms.Missing().Human())
	case admission.ToolSlots:
		return "one of " + limit.Count(p.Terms.ToolSlots, "run") + " of the tool to end"
	case admission.TotalSlots:
		return "one of " + limit.Count(p.Terms.TotalSlots, "run") + " to end"
	}
	return "its turn"
}

// clear removes an unfinished progress line.
func (s *speaker) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

// clearLocked removes an unclosed line from the terminal. The caller holds the lock.
func (s *speaker) clearLocked() {
	if s.unclosed {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.unclosed = false
	}
}
