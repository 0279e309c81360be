package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
)

const (
	// watchTime bounds one look at the pods of a job. A Job that ends without a pod is seen after it.
	watchTime = 5 * time.Second
	// overlap is the time before the newest line from which a log is opened again. The kubelet takes whole seconds, and lines of two streams may be a little
	// out of order.
	overlap = 2 * time.Second
	// streamTime bounds one answer with a log, which is opened again then: a connection that nobody has told us is dead ends there.
	streamTime = 10 * time.Minute
	// maxFailures bounds how often in a row the cluster may fail to answer, with failurePause between, before a log is given up.
	maxFailures, failurePause = 60, 5 * time.Second
	// maxPiece bounds what is held of a line, in bytes; maxStamps the times of lines that are remembered.
	maxPiece, maxStamps = 64 << 10, 1 << 17
)

// Output copies the log of a job's pod, and of the next one where it is tried again. A pod has one stream, which goes to out. A cluster that
// does not answer meanwhile has time to come back.
func (e *Engine) Output(ctx context.Context, ref jobs.Ref, out, _ io.Writer) error {
	c, at, err := e.find(ref)
	if err != nil {
		return err
	}
	l := &follower{out: out}
	for failures := 0; ; {
		ended, err := e.follow(ctx, c, at, ref, l)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && ended:
			return nil
		case err == nil:
			failures = 0
		case failures == maxFailures || !kubeapi.Transient(err):
			return err
		default:
			failures++
			if err := e.pause(ctx, failurePause); err != nil {
				return err
			}
		}
	}
}

// follow looks once at what a job is at, and copies what there is to copy. ended is true where all of it was: the job is asked first, so that no
// pod comes and ends in between.
func (e *Engine) follow(ctx context.Context, c *kubeapi.Cluster, at place, ref jobs.Ref, l *follower) (ended bool, err error) {
	answers, err := e.Status(ctx, []jobs.Ref{ref})
	if err != nil {
		return false, err
	}
	s, known := answers[ref.ID]
	if !known {
		return false, fmt.Errorf("job %s is gone from namespace %s, and its output with it", ref.ID, at.namespace)
	}
	pods, err := podsOf(ctx, c, at.namespace, []jobs.Ref{ref})
	if err != nil {
		return false, err
	}
	started, over := false, false
	if len(pods.Items) > 0 {
		p := &pods.Items[0]
		agent := p.agent().State
		over = agent.Terminated != nil
		if started = over || agent.Running != nil; started {
			if l.uid != p.Metadata.UID {
				*l = follower{uid: p.Metadata.UID, out: l.out, seen: map[int64]int{}}
			}
			if err := l.follow(ctx, c, at.namespace, p.Metadata.Name, over); err != nil {
				return false, err
			}
		}
	}
	switch {
	case s.Phase == jobs.Ended && (!started || l.whole):
		return true, nil
	case s.Phase == jobs.Ended, over && !l.whole: // its log was cut
		return false, e.pause(ctx, time.Second)
	}
	return false, e.changed(ctx, c, at.namespace, ref, pods.Metadata.ResourceVersion)
}

// changed returns when something has happened to the pods of a job, or after a while. Where watching is not allowed it waits a second.
func (e *Engine) changed(ctx context.Context, c *kubeapi.Cluster, namespace string, ref jobs.Ref, version string) error {
	bounded, cancel := context.WithTimeout(ctx, 2*watchTime)
	defer cancel()
	events, err := c.Stream(bounded, kubeapi.Path("v1", namespace, "pods"), url.Values{
		"labelSelector": {selector([]jobs.Ref{ref})}, "watch": {"true"}, "resourceVersion": {version}, "timeoutSeconds": {fmt.Sprint(int(watchTime.Seconds()))},
	})
	if err == nil {
		defer events.Close()
		_, err = events.Read(make([]byte, 1))
		if err == nil || errors.Is(err, io.EOF) {
			return nil
		}
	}
	return e.pause(ctx, time.Second)
}

// follower copies one container's log and knows how far it is, so that a cut leaves nothing out and brings nothing twice. Every line
// carries the time at which it was written. After a cut the log is opened a little before the newest line, and as many lines of each time are
// skipped as have been copied. Of a line that was copied in part its first bytes are.
type follower struct {
	uid    string
	out    io.Writer
	seen   map[int64]int // lines copied, by their times, those of the last while
	newest int64
	part   int64 // the time of the line that was copied in part, 0 for none
	done   int   // bytes of it that were
	whole  bool  // the container had ended before the log was opened, and all of it was copied
}

func (l *follower) follow(ctx context.Context, c *kubeapi.Cluster, namespace, name string, ended bool) error {
	query := url.Values{"container": {agentName}, "follow": {"true"}, "timestamps": {"true"}}
	skip := map[int64]int{}
	if since := l.since(); since != "" {
		query.Set("sinceTime", since)
		skip = maps.Clone(l.seen)
	}
	bounded, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	stream, err := c.Stream(bounded, kubeapi.Path("v1", namespace, "pods", name, "log"), query)
	if s := kubeapi.StatusOf(err); s == http.StatusNotFound || s == http.StatusBadRequest {
		l.whole = ended && s == http.StatusNotFound // the pod has gone
		return nil                                  // the container is not there yet, or no more: its status tells
	}
	if err != nil {
		if ctx.Err() == nil && bounded.Err() != nil { // it had nothing to say
			return nil
		}
		return err
	}
	defer stream.Close()
	broken, err := l.copy(stream, skip)
	l.whole = ended && !broken && err == nil
	return err
}

// since returns the time from which the log is to be opened again, "" for its beginning.
func (l *follower) since() string {
	if l.newest == 0 {
		return ""
	}
	return time.Unix(0, l.newest).Add(-overlap).UTC().Format(time.RFC3339)
}

// copy copies lines until the stream ends. broken is true where it ended other than at its end; err is that of the writer.
func (l *follower) copy(stream io.Reader, skip map[int64]int) (broken bool, err error) {
	r := bufio.NewReaderSize(stream, maxPiece)
	for {
		piece, readErr := r.ReadSlice('\n')
		stamp, text, ok := bytes.Cut(piece, []byte(" "))
		at, timeErr := time.Parse(time.RFC3339Nano, string(stamp))
		if !ok || timeErr != nil { // cut within the time, or something that is no line of a log
			if readErr == nil {
				continue
			}
			return !errors.Is(readErr, io.EOF), nil
		}
		key := at.UnixNano()
		again := skip[key] > 0
		if again {
			skip[key]--
		}
		from := 0
		if !again && l.part == key {
			from = l.done
		}
		for n := 0; ; {
			if rest := max(0, from-n); !again && rest < len(text) {
				if _, err := l.out.Write(text[rest:]); err != nil {
					return false, err
				}
			}
			n += len(text)
			if !again {
				l.part, l.done = key, max(n, from)
			}
			if !errors.Is(readErr, bufio.ErrBufferFull) {
				break
			}
			text, readErr = r.ReadSlice('\n')
		}
		if readErr != nil { // the last line may go on after a cut
			return !errors.Is(readErr, io.EOF), nil
		}
		if !again {
			l.part, l.done = 0, 0
			l.remember(key)
		}
	}
}

func (l *follower) remember(key int64) {
	l.newest = max(l.newest, key)
	l.seen[key]++
	if len(l.seen) > maxStamps {
		oldest := l.newest - int64(overlap+time.Second)
		maps.DeleteFunc(l.seen, func(at int64, _ int) bool { return at < oldest })
		if len(l.seen) > maxStamps/2 { // so many lines in seconds: after a cut some may come twice
			clear(l.seen)
		}
	}
}
