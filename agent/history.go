package agent

// turns returns the indexes of the user's messages. A turn begins at each; messages before the first belong to no turn.
func turns(ms []Message) []int {
	var at []int
	for i := range ms {
		if ms[i].Role == RoleUser {
			at = append(at, i)
		}
	}
	return at
}

// shortened returns a conversation of at most messages messages and maxHistory bytes. One that is over a bound is cut to three quarters of
// it: if only the excess were cut, the conversation would be cut before every request, and the provider's cache of its beginning lost each
// time.
func shortened(ms []Message, messages int) []Message {
	if kept := cutHistory(ms, messages, int64(maxHistory)); len(kept) == len(ms) {
		return ms
	}
	return cutHistory(ms, max(1, messages*3/4), int64(maxHistory)*3/4)
}

// cutHistory drops old messages until at most the given numbers of messages and of bytes are left. Whole turns go first, the oldest before
// the others; then steps of the remaining turns, a call always with its results. The last question and the newest step always stay, and the
// first message is the user's. It returns ms itself when nothing is dropped, and when no message is the user's.
func cutHistory(ms []Message, messages int, bytes int64) []Message {
	count, size := len(ms), sizeOf(ms)
	over := func() bool { return count > messages || size > bytes }
	starts := turns(ms)
	if len(starts) == 0 || !over() && starts[0] == 0 {
		return ms
	}
	drop := make([]bool, len(ms))
	leave := func(from, to int) {
		for i := from; i < to; i++ {
			if !drop[i] {
				drop[i] = true
				count--
				size -= ms[i].size()
			}
		}
	}
	leave(0, starts[0])
	for i := 0; i+1 < len(starts) && over(); i++ {
		// The turn before the last question stays for its answer, without its steps: the
		// question is about it.
		if i+2 == len(starts) {
			for _, s := range steps(ms, starts[i], starts[i+1]) {
				if over() {
					leave(s[0], s[1])
				}
			}
			if !over() {
				break
			}
		}
		leave(starts[i], starts[i+1])
	}
	last := steps(ms, starts[len(starts)-1], len(ms))
	for i, s := range last {
		if !over() || i+1 == len(last) && s[1] == len(ms) {
			break
		}
		leave(s[0], s[1])
	}
	kept := make([]Message, 0, count)
	for i := range ms {
		if !drop[i] {
			kept = append(kept, ms[i])
		}
	}
	return kept
}

// steps returns the ranges [from,to) of the messages of the model that have calls, each with the results behind it.
func steps(ms []Message, from, to int) [][2]int {
	var all [][2]int
	for i := from; i < to; i++ {
		if ms[i].Role != RoleAssistant || len(ms[i].Calls) == 0 {
			continue
		}
		end := i + 1
		for end < to && ms[end].Role == RoleTool {
			end++
		}
		all = append(all, [2]int{i, end})
		i = end - 1
	}
	return all
}

// unanswered returns the calls of the last step that have no result, because a process died or a query was cancelled while they ran.
func unanswered(ms []Message) []Call {
	at := len(ms) - 1
	answered := map[string]bool{}
	for at >= 0 && ms[at].Role == RoleTool {
		answered[ms[at].CallID] = true
		at--
	}
	if at < 0 || ms[at].Role != RoleAssistant {
		return nil
	}
	var open []Call
	for _, c := range ms[at].Calls {
		if !answered[c.ID] {
			open = append(open, c)
		}
	}
	return open
}

// noResult returns the message to put in place of a missing result. why is its text.
func noResult(c Call, why string) Message {
	return Message{Role: RoleTool, CallID: c.ID, Name: c.Name, Text: why, Failed: true}
}

// noResults returns a [noResult] for each call.
func noResults(calls []Call, why string) []Message {
	ms := make([]Message, len(calls))
	for i, c := range calls {
		ms[i] = noResult(c, why)
	}
	return ms
}
