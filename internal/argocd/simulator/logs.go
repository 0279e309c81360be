package simulator

import (
	"strconv"
	"strings"
	"time"
)

// line is one line of a pod's log.
type line struct {
	pod, text      string
	at             time.Time
	second, moment string
	last           bool
}

// logEnd returns the time at which the lines of all logs end: the moment of the recording.
func logEnd() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

// lineOf makes line i of n of a pod's container. Only what is asked for is made.
func (s *Simulator) lineOf(pod, container string, i, n int) line {
	d := s.diceOf(pod, &object{Kind: container, Name: strconv.Itoa(i)})
	text := string(s.render(nil, "said", &line{}, 0, d))
	return line{pod: pod, text: text, at: logEnd().Add(-time.Duration(n-i) * 250 * time.Millisecond)}
}

// logQuery holds the parameters of a request for a log.
type logQuery struct {
	container          string
	tail, since        int64
	until              time.Time
	filter             string
	inverse, matchCase bool
	follow, previous   bool
}

func (c *call) logQuery() (q logQuery, err error) {
	q.container, q.filter = c.query.Get("container"), c.query.Get("filter")
	if rest, ok := strings.CutPrefix(q.filter, "!"); ok {
		q.filter, q.inverse = rest, true
	}
	for name, into := range map[string]*int64{"tailLines": &q.tail, "sinceSeconds": &q.since} {
		if *into, err = c.whole(name); err != nil {
			return q, err
		}
	}
	for name, into := range map[string]*bool{"follow": &q.follow, "previous": &q.previous, "matchCase": &q.matchCase} {
		if *into, err = c.flag(name); err != nil {
			return q, err
		}
	}
	if text := c.query.Get("untilTime"); text != "" {
		if q.until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return q, refuse(invalidArgument, "invalid untilTime parameter value: %v", err)
		}
	}
	return q, nil
}

func (q *logQuery) takes(l *line) bool {
	if q.filter == "" {
		return true
	}
	text, want := l.text, q.filter
	if !q.matchCase {
		text, want = strings.ToLower(text), strings.ToLower(want)
	}
	return strings.Contains(text, want) != q.inverse
}

// maxLogPods is the server's bound on pods in one call.
const maxLogPods = 10

func getLogs(c *call) error {
	q, err := c.logQuery()
	if err != nil {
		return err
	}
	_, t, err := c.content()
	if err != nil {
		return err
	}
	name := c.query.Get("podName")
	var pods []object
	for i := range t.objects {
		o := &t.objects[i]
		if name == "" && !c.asked(o, "resourceName", "namespace") && c.query.Get("kind") != "Pod" {
			continue
		}
		_, below := c.pods(t.name, o)
		for _, p := range below {
			if (name == "" || p.Name == name) && (c.query.Get("kind") != "Pod" || c.asked(&p, "resourceName", "namespace")) {
				pods = append(pods, p)
			}
		}
	}
	if len(pods) > maxLogPods {
		return refuse(invalidArgument, "max pods to view logs are reached. Please provide more granular query")
	}
	if len(pods) == 0 && name != "" {
		return refuse(invalidArgument, "pod %s not found as part of application %s", name, t.name)
	}
	switch q.container {
	case "":
		q.container = "app"
	case "app", "proxy":
	default:
		if len(pods) > 0 {
			return refuse(invalidArgument, "container %s is not valid for pod %s", q.container, pods[0].Name)
		}
	}
	if q.previous && len(pods) > 0 {
		return refuse(invalidArgument, "previous terminated container %q in pod %q not found", q.container, pods[0].Name)
	}
	return c.tail(pods, q)
}

// tail writes the lines of the pods in the order of time, and then follows.
func (c *call) tail(pods []object, q logQuery) error {
	st := c.stream()
	n, from := make([]int, len(pods)), make([]int, len(pods))
	for i := range pods {
		d := c.diceOf(pods[i].Name, &object{Kind: "Log", Name: q.container})
		n[i] = 200 + d.intn(4)*d.intn(3000)
		if q.tail > 0 {
			from[i] = max(from[i], n[i]-int(min(q.tail, int64(n[i]))))
		}
		if q.since > 0 {
			from[i] = max(from[i], n[i]-int(min(q.since*4, int64(n[i]))))
		}
	}
	for {
		best := -1
		for i := range pods {
			if from[i] < n[i] && (best < 0 || n[best]-from[best] < n[i]-from[i]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		l := c.lineOf(pods[best].Name, q.container, from[best], n[best])
		from[best]++
		if !q.until.IsZero() && l.at.After(q.until) {
			continue
		}
		if !q.takes(&l) {
			continue
		}
		if err := st.send(c.writeLine(&l)); err != nil {
			return err
		}
	}
	for q.follow && len(pods) > 0 {
		if err := st.push(); err != nil {
			return err
		}
		if !wait(c.r.Context(), c.logEvery) {
			return c.r.Context().Err()
		}
		for i := range pods {
			l := c.lineOf(pods[i].Name, q.container, n[i], n[i])
			n[i]++
			l.at = time.Now()
			if !q.takes(&l) {
				continue
			}
			if err := st.send(c.writeLine(&l)); err != nil {
				return err
			}
		}
	}
	if err := st.send(c.writeLine(&line{at: time.Now(), last: true})); err != nil {
		return err
	}
	return st.push()
}

func (s *Simulator) writeLine(l *line) []byte {
	l.second, l.moment = l.at.UTC().Format(time.RFC3339), l.at.UTC().Format(time.RFC3339Nano)
	return s.render(nil, "line", l, 0, dice{})
}
