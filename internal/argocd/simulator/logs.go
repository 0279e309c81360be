package simulator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// line is one line of a pod's log.
type line struct {
	pod, text      string
	second, moment string
	last           bool

	number int
	at     time.Time
}

// logEnd returns the time at which the lines of all logs end: the moment of the recording.
func logEnd() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

// logQuery holds the parameters of a request for a log.
type logQuery struct {
	container          string
	tail, since        int64
	until              time.Time
	filter             string
	inverse, matchCase bool
	follow, previous   bool
}

// logQuery returns the parameters of a request for logs, and refuses the call for those that the server refuses.
func (c *call) logQuery() logQuery {
	whole := func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
	q := logQuery{
		container: cmp.Or(c.query.Get("container"), "app"), tail: parameter(c, "tailLines", whole), since: parameter(c, "sinceSeconds", whole),
		follow: c.flag("follow"), previous: c.flag("previous"), matchCase: c.flag("matchCase"),
	}
	q.filter, q.inverse = strings.CutPrefix(c.query.Get("filter"), "!")
	if text := c.query.Get("untilTime"); text != "" {
		var err error
		if q.until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			refuseCall(invalidArgument, "invalid untilTime parameter value: %v", err)
		}
	}
	return q
}

// takes reports whether the filter lets a line pass.
func (q *logQuery) takes(text string) bool {
	if q.filter == "" {
		return true
	}
	want := q.filter
	if !q.matchCase {
		text, want = strings.ToLower(text), strings.ToLower(want)
	}
	return strings.Contains(text, want) != q.inverse
}

// maxLogPods is the server's bound on pods in one call.
const maxLogPods = 10

// getLogs answers with the logs of the pods that the query selects. It refuses more than maxLogPods pods, an unknown pod or container, and
// previous logs.
func getLogs(c *call) {
	q := c.logQuery()
	_, t := c.requestedContent()
	name, ofPods := c.query.Get("podName"), c.query.Get("kind") == "Pod"
	var pods []string
	for _, o := range t.objects {
		if name == "" && !ofPods && !c.selects(&o, "resourceName") {
			continue
		}
		for _, member := range c.withPods(t.name, &o)[1:] {
			if member.Kind == "Pod" && (name == "" || member.Name == name) && (!ofPods || c.selects(&member, "resourceName")) {
				pods = append(pods, member.Name)
			}
		}
	}
	switch {
	case len(pods) > maxLogPods:
		refuseCall(invalidArgument, "max pods to view logs are reached. Please provide more granular query")
	case len(pods) == 0 && name != "":
		refuseCall(invalidArgument, "pod %s not found as part of application %s", name, t.name)
	case len(pods) > 0 && q.container != "app" && q.container != "proxy":
		refuseCall(invalidArgument, "container %s is not valid for pod %s", q.container, pods[0])
	case len(pods) > 0 && q.previous:
		refuseCall(invalidArgument, "previous terminated container %q in pod %q not found", q.container, pods[0])
	}
	c.writeLogs(pods, q)
}

// writeLogs answers with the lines of the pods in the order of time. If q asks to follow, it goes on with a line of each pod every
// Options.LogEvery until the client goes. A mark of the end comes last.
func (c *call) writeLogs(pods []string, q logQuery) {
	s := c.sink()
	lengths := make([]int, len(pods))
	var lines []line
	for i, pod := range pods {
		d := c.diceOf(pod, &object{Kind: "Log", Name: q.container})
		n, from := 200+d.intn(4)*d.intn(3000), 0
		if q.tail > 0 {
			from = n - int(min(q.tail, int64(n)))
		}
		if q.since > 0 && q.since < int64(n) {
			from = max(from, n-int(q.since*4))
		}
		for j := from; j < n; j++ {
			lines = append(lines, line{pod: pod, number: j, at: logEnd().Add(-time.Duration(n-j) * 250 * time.Millisecond)})
		}
		lengths[i] = n
	}
	sorting.StableBy(lines, func(x, y line) int { return x.at.Compare(y.at) })
	if !q.until.IsZero() {
		lines = slices.DeleteFunc(lines, func(l line) bool { return l.at.After(q.until) })
	}
	c.writeLines(s, q, lines)
	for q.follow && len(pods) > 0 {
		s.push()
		pauseFor(c.r.Context(), c.options.LogEvery)
		lines = lines[:0]
		for i, pod := range pods {
			lines = append(lines, line{pod: pod, number: lengths[i], at: time.Now()})
			lengths[i]++
		}
		c.writeLines(s, q, lines)
	}
	c.writeLines(s, logQuery{}, []line{{at: time.Now(), last: true}})
	s.flush()
}

// writeLines writes those of the lines that the query takes, each as an event, and flushes whenever the buffer is full. It fills in the
// texts and times of the lines.
func (c *call) writeLines(s *sink, q logQuery, lines []line) {
	for i := range lines {
		l := &lines[i]
		if !l.last {
			d := c.diceOf(l.pod, &object{Kind: q.container, Name: strconv.Itoa(l.number)})
			l.text = string(c.render(nil, "said", l, 0, d))
		}
		if !q.takes(l.text) {
			continue
		}
		l.second, l.moment = l.at.UTC().Format(time.RFC3339), l.at.UTC().Format(time.RFC3339Nano)
		if s.b = append(c.render(append(s.b, `{"result":`...), "line", l, 0, dice{}), '}', '\n'); len(s.b) >= full {
			s.flush()
		}
	}
}
