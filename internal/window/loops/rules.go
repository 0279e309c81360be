package loops

import (
	"fmt"
	"slices"
	"strings"
)

// findIdentical returns a finding if one call with one result is among the newest calls too often. A change in between is progress, so a test
// that is run after each edit is no loop, unless the change was made before too. Waiting for something is no loop either.
func (d *Detector) findIdentical() (Finding, bool) {
	n, last := d.o.Identical, len(d.calls)-1
	newest := d.calls[last]
	if d.mayRepeat(newest) {
		return Finding{}, false
	}
	times := 1
	for i := last - 1; i >= 0 && times < n; i-- {
		switch c := d.calls[i]; {
		case c.what == newest.what:
			times++
			if times == n {
				return identicalFinding(newest.name, n, last+1-i), true
			}
		case d.o.Foreign && c.nature == waits, newest.nature != opens && c.nature == acts && !c.failed && d.isUnique(i):
			return Finding{}, false
		}
	}
	return Finding{}, false
}

// mayRepeat reports whether the call may repeat without being a loop.
func (d *Detector) mayRepeat(c seenCall) bool { return d.o.Foreign && c.nature.polls() }

// isUnique reports whether no other remembered call is the same as the one at that index, with the same result.
func (d *Detector) isUnique(at int) bool {
	for i, c := range d.calls {
		if i != at && c.what == d.calls[at].what {
			return false
		}
	}
	return true
}

// identicalFinding returns the finding that a tool was called the same way several times among the last calls.
func identicalFinding(name string, times, among int) Finding {
	where := "in a row"
	if among > times {
		where = fmt.Sprintf("among the last %d calls", among)
	}
	return Finding{
		Kind:   KindIdentical,
		Nudge:  fmt.Sprintf("You called %s %d times %s with the same arguments, and the result was the same each time. Calling it again will change nothing. %s", name, times, where, advice),
		Detail: fmt.Sprintf("%s was called %d times %s with the same arguments and the same result", name, times, where),
	}
}

// findFailing returns a finding if one call failed again and again with no other call in between. Errors may differ in their words.
func (d *Detector) findFailing() (Finding, bool) {
	n := d.o.Identical
	if len(d.calls) < n {
		return Finding{}, false
	}
	last := d.calls[len(d.calls)-n:]
	for _, s := range last {
		if !s.failed || s.call != last[0].call || d.mayRepeat(s) {
			return Finding{}, false
		}
	}
	name := last[0].name
	return Finding{
		Kind:   KindFailing,
		Nudge:  fmt.Sprintf("You called %s %d times in a row with the same arguments, and it failed each time. Read what the error says. %s", name, n, advice),
		Detail: fmt.Sprintf("%s was called %d times in a row with the same arguments, and failed each time", name, n),
	}, true
}

// findCycle returns a finding if the newest calls are two or three that came twice in the same order.
func (d *Detector) findCycle() (Finding, bool) {
	for n := 2; n <= maxCycle && 2*n <= len(d.calls); n++ {
		last := d.calls[len(d.calls)-2*n:]
		same, differ := true, false
		for i := range n {
			same = same && last[i].what == last[n+i].what
			differ = differ || last[i].what != last[0].what
			same = same && !d.mayRepeat(last[i])
		}
		if same && differ {
			return cycleFinding(last[:n], 2), true
		}
	}
	return Finding{}, false
}

// findBatch returns a finding if a step of several calls came again and again.
func (d *Detector) findBatch() (Finding, bool) {
	if len(d.steps) < maxRepeatedSteps || d.steps[0].calls < 2 {
		return Finding{}, false
	}
	for _, s := range d.steps[1:] {
		if s.what != d.steps[0].what || d.o.Foreign && s.polls {
			return Finding{}, false
		}
	}
	n := min(d.steps[0].calls, len(d.calls))
	return cycleFinding(d.calls[len(d.calls)-n:], maxRepeatedSteps), true
}

// cycleFinding returns the finding that the calls came that many times in this order.
func cycleFinding(calls []seenCall, times int) Finding {
	const maxShown = 4
	var names []string
	for _, s := range calls[:min(len(calls), maxShown)] {
		names = append(names, s.name)
	}
	list := strings.Join(names, ", ")
	if len(calls) > maxShown {
		list += ", …"
	}
	return Finding{
		Kind: KindCycle,
		Nudge: fmt.Sprintf("You made the same calls (%s) %d times over, with the same arguments, and their results were the same each time. Making them again will change nothing. %s",
			list, times, advice),
		Detail: fmt.Sprintf("the same calls (%s) were made %d times over, with the same arguments and the same results", list, times),
	}
}

// findErrors counts, for each tool in the calls, in how many steps in a row it has failed, whatever its arguments, and returns a finding
// for one that failed too often.
func (d *Detector) findErrors(calls []Call) (found Finding, ok bool) {
	type sum struct {
		name string
		tool digest
		well bool
	}
	var tools []sum
	at := map[digest]int{}
	for _, c := range calls {
		id := digestOf("tool", c.Name)
		i, known := at[id]
		if !known {
			i = len(tools)
			at[id] = i
			tools = append(tools, sum{name: clipName(c.Name), tool: id})
		}
		tools[i].well = tools[i].well || !c.Failed
	}
	for _, t := range tools {
		s := streak{name: t.name, tool: t.tool}
		if i := slices.IndexFunc(d.streaks, func(s streak) bool { return s.tool == t.tool }); i >= 0 {
			s = d.streaks[i]
			d.forgetStreak(i)
		}
		if t.well {
			continue // a success ends the streak
		}
		s.steps++
		if s.steps >= errorSteps {
			if !ok {
				found, ok = errorFinding(s), true
			}
			s.steps = errorSteps - errorGrace
		}
		if len(d.streaks) == MaxTools {
			d.forgetStreak(0)
		}
		d.names += int64(len(s.name))
		d.streaks = append(d.streaks, s)
	}
	return found, ok
}

// forgetStreak removes streak i.
func (d *Detector) forgetStreak(i int) {
	d.names -= int64(len(d.streaks[i].name))
	d.streaks = slices.Delete(d.streaks, i, i+1)
}

// errorFinding returns the finding that a tool fails whatever it is given.
func errorFinding(s streak) Finding {
	return Finding{
		Kind:   KindErrors,
		Nudge:  fmt.Sprintf("Every call of %s has failed for the last %d steps, with whatever arguments. Another guess will most likely fail too. Read what the errors say. %s", s.name, s.steps, advice),
		Detail: fmt.Sprintf("every call of %s failed in %d steps in a row", s.name, s.steps),
	}
}

// advice ends each nudge.
const advice = "Do something else, or answer the user now with what you know, and say what is missing."
