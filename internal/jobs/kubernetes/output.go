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
	// maxPiece bounds what is held of a line, in bytes; maxMoments the times of lines that are remembered before the older ones are forgotten.
	maxPiece, maxMoments = 64 << 10, 8 << 10
)

// Output copies the log of a job's pod to out, and that of the next pod if the job is tried again, until the job has ended. A pod has one
// stream, so errs gets nothing. After failures that may pass it tries again, at most maxFailures times in a row.
func (e *Engine) Output(ctx context.Context, ref jobs.Ref, out, _ io.Writer) error {
	c, err := e.jobCluster(ref)
	if err != nil {
		return err
	}
	l := &follower{out: out}
	for failures := 0; ; {
		ended, err := e.followOnce(ctx, c, ref, l)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && ended:
			return nil
		case err == nil:
			failures = 0
		case failures == maxFailures || !kubeapi.IsTransient(err):
			return err
		default:
			failures++
			_ = e.pause(ctx, failurePause)
		}
	}
}

// followOnce asks once for the state of a job, copies the log of its newest pod, and waits for a change. ended is true once the job has ended and all
// of its log was copied. The job is asked before its pods, so that none can begin and end in between.
func (e *Engine) followOnce(ctx context.Context, c *kubeapi.Cluster, ref jobs.Ref, l *follower) (ended bool, err error) {
	answers := map[string]jobs.Status{}
	pods, err := readStatus(ctx, c, []jobs.Ref{ref}, answers)
	if err != nil {
		return false, err
	}
	s, known := answers[ref.ID]
	if !known {
		return false, fmt.Errorf("job %s is gone from namespace %s, and its output with it", ref.ID, c.Namespace)
	}
	started, over, whole := false, false, false
	if len(pods.Items) > 0 {
		p := &pods.Items[0]
		agent := p.agentContainer().State
		over = agent.Terminated != nil
		if started = over || agent.Running != nil; started {
			if l.uid != p.Metadata.UID {
				*l = follower{uid: p.Metadata.UID, out: l.out, copied: map[int64]int{}}
			}
			if whole, err = l.copyLog(ctx, c, p.Metadata.Name, over); err != nil {
				return false, err
			}
		}
	}
	switch {
	case s.Phase == jobs.Ended && (!started || whole):
		return true, nil
	case over && !whole: // its log was cut
		return false, e.pause(ctx, time.Second)
	}
	return false, e.waitForChange(ctx, c, ref, pods.Metadata.ResourceVersion)
}

// waitForChange waits until something happens to the pods of a job, at most about watchTime. Where watching is not allowed it waits a second.
func (e *Engine) waitForChange(ctx context.Context, c *kubeapi.Cluster, ref jobs.Ref, version string) error {
	bounded, cancel := context.WithTimeout(ctx, 2*watchTime)
	defer cancel()
	events, err := c.Stream(bounded, c.Path("v1", "pods"), url.Values{
		"labelSelector": {labelKey + "=" + ref.ID}, "watch": {"true"}, "resourceVersion": {version}, "timeoutSeconds": {fmt.Sprint(watchTime.Seconds())},
	})
	if err == nil {
		defer events.Close()
		if _, err = events.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			return nil
		}
	}
	return e.pause(ctx, time.Second)
}

// follower copies one container's log and knows how far it is, so that a cut leaves nothing out and brings nothing twice. Every line carries the
// time at which it was written. After a cut the log is opened a little before the newest line, and of each time as much is skipped as was copied.
type follower struct {
	uid    string
	out    io.Writer
	copied map[int64]int // bytes, by the millisecond of their line, of the last while
	newest int64         // of those times
}

// copyLog copies the log of a pod from where the last call stopped. ended says whether the container had ended before; complete is true if so, and if
// all of its log was copied. A log that cannot be read yet is no error.
func (l *follower) copyLog(ctx context.Context, c *kubeapi.Cluster, name string, ended bool) (complete bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	stream, err := c.Stream(bounded, c.Path("v1", "pods", name, "log"), l.query())
	switch s := kubeapi.HTTPStatus(err); {
	case s == http.StatusNotFound: // the pod has gone, or has no such container yet
		return ended, nil
	case s == http.StatusBadRequest, bounded.Err() != nil && ctx.Err() == nil: // the container is not there yet, or has nothing to say
		return false, nil
	case err != nil:
		return false, err
	}
	defer stream.Close()
	broken, err := l.copyLines(stream)
	return ended && !broken, err
}

// query returns the parameters that ask for the log from its beginning, or from a little before the newest line that was copied.
func (l *follower) query() url.Values {
	query := url.Values{"container": {agentName}, "follow": {"true"}, "timestamps": {"true"}}
	if l.newest != 0 {
		query.Set("sinceTime", time.UnixMilli(l.newest).Add(-overlap).UTC().Format(time.RFC3339))
	}
	return query
}

// copyLines copies the lines of a log without their times, until the stream ends; bytes that an earlier call has copied are skipped. broken is true
// if the stream ended in another way than at its end; err is that of the writer.
func (l *follower) copyLines(stream io.Reader) (broken bool, err error) {
	skip := maps.Clone(l.copied)
	r := bufio.NewReaderSize(stream, maxPiece)
	var of int64 // the time of the line that is being read, 0 before it is known
	for {
		text, readErr := r.ReadSlice('\n')
		if of == 0 {
			stamp, rest, ok := bytes.Cut(text, []byte(" "))
			if at, err := time.Parse(time.RFC3339Nano, string(stamp)); ok && err == nil { // else it is cut within the time, or no line of a log
				of, text = at.UnixMilli(), rest
				l.newest = max(l.newest, of)
			}
		}
		if n := min(skip[of], len(text)); of != 0 {
			skip[of] -= n
			l.copied[of] += len(text) - n
			if _, err := l.out.Write(text[n:]); err != nil {
				return false, err
			}
		}
		switch {
		case errors.Is(readErr, bufio.ErrBufferFull):
			continue
		case readErr != nil:
			return !errors.Is(readErr, io.EOF), nil
		case len(l.copied) > maxMoments:
			maps.DeleteFunc(l.copied, func(at int64, _ int) bool { return at < l.newest-(overlap+time.Second).Milliseconds() })
		}
		of = 0
	}
}
