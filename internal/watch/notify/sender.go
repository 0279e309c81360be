package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/secrets"
)

const (
	// Timeout bounds the giving of one notice, with all its attempts.
	Timeout = 10 * time.Second
	// MaxQueue bounds the notices that wait for the ones before them.
	MaxQueue = 64
)

// SenderOptions configure a [Sender].
type SenderOptions struct {
	// Fail is called with the first notice of several that could not be given, and how many found no room; nil drops it.
	Fail func(error)
	// Environ has variables whose values are masked when their names are those of secrets, each as NAME=value.
	Environ []string
}

// Sender gives notices, one after the other, in a goroutine that is there while there are some.
type Sender struct {
	way    Way
	fail   func(error)
	hide   func(string) string
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	queue   []Notice
	working bool
	closed  bool
	failing bool
	dropped int
}

// NewSender makes a sender. Nothing runs before there is a notice.
func NewSender(way Way, o SenderOptions) *Sender {
	s := &Sender{way: way, fail: o.Fail, hide: newMasker(o.Environ)}
	if s.fail == nil {
		s.fail = func(error) {}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Give queues a notice, with secrets masked, and returns at once. If MaxQueue notices wait, or after Close, it is dropped.
func (s *Sender) Give(n Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if len(s.queue) >= MaxQueue {
		s.dropped++
		return
	}
	n.Title, n.Text, n.Tool, n.Project = s.hide(n.Title), s.hide(n.Text), s.hide(n.Tool), s.hide(n.Project)
	s.queue = append(s.queue, n)
	if !s.working {
		s.working = true
		s.work.Go(s.sendQueued)
	}
}

// sendQueued sends the queued notices until there are none. An error is reported once, until a notice could be sent again.
func (s *Sender) sendQueued() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.ctx.Err() != nil {
			s.working = false
			s.mu.Unlock()
			return
		}
		n := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.ctx, Timeout)
		err := s.way.Send(ctx, n)
		cancel()
		if err != nil && !s.failing {
			s.fail(fmt.Errorf("a notice (%s) was not given by %s: %w", n.Title, s.way, err))
		}
		s.failing = err != nil // only this goroutine, or the next one after it
	}
}

// Close waits at most wait for the queued notices, and then cancels the one that is being sent. It calls fail with the number of those that were not
// sent, if there are any.
func (s *Sender) Close(wait time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	timer := time.AfterFunc(wait, s.cancel)
	s.work.Wait() // a way ends soon after its context
	timer.Stop()
	s.cancel()
	s.mu.Lock()
	lost := s.dropped + len(s.queue)
	s.queue, s.dropped = nil, 0
	s.mu.Unlock()
	if lost > 0 {
		s.fail(fmt.Errorf("%d notices were not given by %s: those before them took too long", lost, s.way))
	}
}

// Way gives notices.
type Way interface {
	// Send gives one. It returns soon after ctx has ended.
	Send(ctx context.Context, n Notice) error
	// Check returns the reason why the way cannot work at all, as far as that can be known before there is a notice.
	Check() error
	// String names it, without what may be a credential.
	String() string
}

// Options are the surroundings of ways.
type Options struct {
	// Terminal takes a terminal's own notices where there is no desktop; nil where there is no terminal.
	Terminal io.Writer
	// Environ is the environment of commands, and names the terminal; nil is the process's own.
	Environ []string
	// GOOS is the system; "" is this one.
	GOOS string
}

// Desktop is the word for the desktop.
const Desktop = "desktop"

// Open returns the way to give notices that the words describe: "desktop", a URL with http or https, or a command with its arguments.
func Open(words []string, o Options) (Way, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	switch {
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("no way to give notices: name desktop, a URL or a command")
	case len(words) == 1 && words[0] == Desktop:
		return &desktop{o: o}, nil
	case len(words) == 1 && strings.Contains(words[0], "://"):
		return newWebhook(words[0])
	}
	return &command{argv: words, environ: o.Environ}, nil
}

// Nobody stands in the header of a run in the place of [ID], when nobody is to be told of it.
const Nobody = "-"

// ID names a way in the header of a run. Nothing of the way can be read from it.
func ID(words []string) string {
	text, _ := json.Marshal(words) // strings always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// newMasker returns a function that masks in a text the values of those variables that have names of secrets.
func newMasker(environ []string) func(string) string {
	values := secrets.Environ(environ)
	return func(text string) string { return string(values.Hide([]byte(text))) }
}
