package a2a

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/limit"
)

// The headers of a notification's token: A2A 1.0's and 0.3's.
const (
	tokenHeader    = "A2A-Notification-Token"
	oldTokenHeader = "X-A2A-Notification-Token"
)

const (
	maxPosting   = 8              // notifications on their way at once
	maxPushBytes = 16 * limit.MiB // of all that wait
	pushBackoff  = time.Second    // doubles with each try
	maxBackoff   = 30 * time.Second
)

// deliveryKey identifies a push configuration of a task. The notifications of one key are sent one after another, in order.
type deliveryKey struct {
	task   sdk.TaskID
	config string
}

type notification struct {
	config sdk.PushConfig
	body   []byte
	last   bool
}

// pusher sends notifications in the background. Only close waits for them.
type pusher struct {
	client    *http.Client
	tries     int
	backoff   time.Duration
	maxQueued int // notices that wait
	counts    *counters
	log       *slog.Logger
	agent     string
	posting   chan struct{} // a place per notification on its way
	closing   chan struct{} // no tries after the next
	ctx       context.Context
	stop      context.CancelFunc
	work      sync.WaitGroup

	mu     sync.Mutex
	queues map[deliveryKey][]notification // each key that is in it has a goroutine
	queued int
	bytes  int64
	closed bool
}

func newPusher(client *http.Client, l *Limits, c *counters, log *slog.Logger, agent string) *pusher {
	ctx, stop := context.WithCancel(context.Background())
	return &pusher{
		client: client, tries: l.PushTries, backoff: pushBackoff, maxQueued: l.MaxPushQueue, counts: c, log: log, agent: agent,
		posting: make(chan struct{}, maxPosting), closing: make(chan struct{}),
		ctx: ctx, stop: stop, queues: map[deliveryKey][]notification{},
	}
}

// send queues a notification. When the queue is full, older ones of the same key are dropped first, and if that does not suffice, this one; and this
// one after close.
func (p *pusher) send(key deliveryKey, n notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.counts.pushDropped.Add(1)
		return
	}
	waiting, running := p.queues[key]
	for len(waiting) > 0 && p.full(n) {
		p.dequeue(waiting[0])
		waiting = waiting[1:]
		p.counts.pushDropped.Add(1)
	}
	if running {
		p.queues[key] = waiting
	}
	if p.full(n) {
		p.counts.pushDropped.Add(1)
		return
	}
	p.queued++
	p.bytes += int64(len(n.body))
	p.queues[key] = append(waiting, n)
	if !running {
		p.work.Go(func() { p.deliverQueue(key) })
	}
}

// full reports whether the queue has no room for n. The caller holds mu.
func (p *pusher) full(n notification) bool {
	if n.last { // a client waits for the outcome of its task: it has some room of its own
		return p.queued >= p.maxQueued+p.maxQueued/4+1 || p.queued > 0 && p.bytes+int64(len(n.body)) > 2*int64(maxPushBytes)
	}
	return p.queued >= p.maxQueued || p.queued > 0 && p.bytes+int64(len(n.body)) > int64(maxPushBytes)
}

// dequeue subtracts a notification from the counts of the queue. The caller holds mu.
func (p *pusher) dequeue(n notification) {
	p.queued--
	p.bytes -= int64(len(n.body))
}

// forget drops the notifications of a key that wait. One that is being sent is not stopped.
func (p *pusher) forget(key deliveryKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, running := p.queues[key]
	for _, n := range waiting {
		p.dequeue(n)
	}
	if running {
		p.queues[key] = nil
	}
}

// deliverQueue sends the notifications of a key until none waits.
func (p *pusher) deliverQueue(key deliveryKey) {
	for {
		p.mu.Lock()
		waiting := p.queues[key]
		if len(waiting) == 0 {
			delete(p.queues, key)
			p.mu.Unlock()
			return
		}
		n := waiting[0]
		p.queues[key] = waiting[1:]
		p.dequeue(n)
		p.mu.Unlock()
		if err := p.deliver(n); err != nil {
			p.counts.pushFailed.Add(1)
			p.log.Warn("a2a: a push notification was not delivered", "agent", p.agent, "task", key.task, "error", err)
		} else {
			p.counts.pushSent.Add(1)
		}
	}
}

// deliver sends a notification. It tries again, after growing pauses, until it succeeds, all tries are used up, the error is one that
// another try cannot change, or the server closes.
func (p *pusher) deliver(n notification) error {
	wait := p.backoff
	for try := 1; ; try++ {
		retry, err := p.post(n)
		if err == nil {
			return nil
		}
		if !retry || try >= p.tries {
			return fmt.Errorf("try %d of %d: %w", try, p.tries, err)
		}
		p.counts.pushRetried.Add(1)
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-timer.C:
		case <-p.closing:
			timer.Stop()
			return fmt.Errorf("the server closes after try %d: %w", try, err)
		}
		wait = min(2*wait, maxBackoff)
	}
}

// post makes one try. retry reports whether another one may succeed.
func (p *pusher) post(n notification) (retry bool, err error) {
	select {
	case p.posting <- struct{}{}:
		defer func() { <-p.posting }()
	case <-p.ctx.Done():
		return false, p.ctx.Err()
	}
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, n.config.URL, bytes.NewReader(n.body))
	if err != nil {
		return false, errors.New("its address can't be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "plimsoll")
	if n.config.Token != "" {
		req.Header.Set(tokenHeader, n.config.Token)
		req.Header.Set(oldTokenHeader, n.config.Token)
	}
	if a := n.config.Auth; a != nil && a.Credentials != "" {
		req.Header.Set("Authorization", strings.TrimSpace(a.Scheme+" "+a.Credentials))
	}
	resp, err := p.client.Do(req)
	if err != nil {
		retry = !errors.Is(err, errNotPublic) && p.ctx.Err() == nil
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which may have a secret in its query
		}
		return retry, err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return false, nil
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500:
		return true, errors.New(resp.Status)
	default:
		return false, errors.New(resp.Status)
	}
}

// close refuses further notifications, tries once more to send each waiting one until ctx ends, and stops the goroutines.
func (p *pusher) close(ctx context.Context) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.mu.Unlock()
	close(p.closing)
	done := make(chan struct{})
	go func() {
		p.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	p.stop()
	<-done
	p.client.CloseIdleConnections()
}
