package conversation

import "github.com/plimsoll/plimsoll/agent"

// choose returns which entries to keep so that they have at most maxBytes together. If they have more, whole turns are dropped, the oldest
// first, until at most target bytes are left; a turn begins with a message of the user. The last turn stays. If that alone is too large,
// calls are dropped with their results, the oldest first, and of the last step the oldest results. The question and the last message always
// stay: each has at most a quarter of the bound.
func choose(entries []entry, maxBytes, target int64) []bool {
	keep := make([]bool, len(entries))
	var total int64
	for i, e := range entries {
		keep[i] = true
		total += int64(e.size)
	}
	drop := func(from, to int) {
		for i := from; i < to; i++ {
			if keep[i] {
				keep[i] = false
				total -= int64(entries[i].size)
			}
		}
	}
	if total <= maxBytes {
		return keep
	}
	begin := 0
	for next := nextOf(entries, begin, agent.RoleUser); total > target && next < len(entries); next = nextOf(entries, begin, agent.RoleUser) {
		drop(begin, next)
		begin = next
	}
	if total <= maxBytes || begin == len(entries) {
		return keep
	}
	if entries[begin].role == agent.RoleUser {
		begin++
	}
	for next := nextOf(entries, begin, agent.RoleAssistant); total > maxBytes && next < len(entries); next = nextOf(entries, begin, agent.RoleAssistant) {
		drop(begin, next)
		begin = next
	}
	for ; total > maxBytes && begin < len(entries)-1; begin++ {
		drop(begin, begin+1)
	}
	return keep
}

// nextOf returns the index of the next entry of a role behind i, or the number of entries.
func nextOf(entries []entry, i int, role agent.Role) int {
	for i++; i < len(entries); i++ {
		if entries[i].role == role {
			return i
		}
	}
	return len(entries)
}
