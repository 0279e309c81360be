package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/process/admission"
)

// speaker writes Plimsoll's own words to standard error: warnings always, progress and the
// report for a person at a terminal. It is safe for concurrent use.
type speaker struct {
	mu       sync.Mutex
	w        io.Writer
	person   bool
	quiet    bool
	colour   bool
	unclosed bool // a progress line without a line end is on the screen
	said     map[string]bool
}

func newSpeaker(o *RunOptions) *speaker {
	terminal := o.StderrIsTerminal && drawsEscapes()
	return &speaker{
		w: o.Stderr, person: terminal, quiet: o.Quiet,
		colour: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		said:   map[string]bool{},
	}
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

// warn says a warning once. Quiet leaves it out: the report still has it.
func (s *speaker) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || s.said[text] {
		return
	}
	if len(s.said) < maxSaid {
		s.said[text] = true
	}
	s.line(s.style(yellow, "plimsoll:") + " " + printable(text))
}

// fail says why there was no run.
func (s *speaker) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(s.style(red, "plimsoll:") + " " + printable(err.Error()))
}

// line writes one or more whole lines; the caller holds the lock.
func (s *speaker) line(text string) {
	s.clearLocked()
	end := "\n"
	if s.person { // the terminal may be in raw mode
		text = strings.ReplaceAll(text, "\n", "\r\n")
		end = "\r\n"
	}
	_, _ = io.WriteString(s.w, text+end)
}

// progress shows where a waiting run stands: in place on a terminal, a line each time
// something changed elsewhere.
func (s *speaker) progress(p admission.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	text := fmt.Sprintf("waiting for %s, %s, %d of %d in the queue (Ctrl-C gives up)", waitsFor(p), roughly(p.For), p.Position, p.Of)
	if s.person {
		_, _ = fmt.Fprintf(s.w, "\r\x1b[K%s %s", s.style(dim, "plimsoll:"), text)
		s.unclosed = true
		return
	}
	s.line("plimsoll: " + text)
}

func waitsFor(p admission.Progress) string {
	switch p.Reason {
	case admission.Memory:
		return fmt.Sprintf("memory: %s more", p.Terms.Missing().Human())
	case admission.ToolSlots:
		return fmt.Sprintf("one of the tool's %d slots", p.Terms.ToolSlots)
	case admission.TotalSlots:
		return fmt.Sprintf("one of %d slots", p.Terms.TotalSlots)
	}
	return "its turn"
}

// clear removes an unfinished progress line.
func (s *speaker) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLocked()
}

func (s *speaker) clearLocked() {
	if s.unclosed {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.unclosed = false
	}
}
