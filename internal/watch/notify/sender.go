package notify

import (
	"context"
	"fmt"
	"sync"
	"time"
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
	s := &Sender{way: way, fail: o.Fail, hide: hider(o.Environ)}
	if s.fail == nil {
		s.fail = func(error) {}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Give takes a notice and returns at once.
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
		s.work.Go(s.send)
	}
}

// send gives what waits until nothing does.
func (s *Sender) send() {
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

// Close waits for the notices that were taken, at most for wait, and ends what still gives one then.
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
