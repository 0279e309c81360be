package sandbox

// maxRSSMethod names the source of exitStatus.maxRSS, a member of PROCESS_MEMORY_COUNTERS.
const maxRSSMethod = "PeakPagefileUsage"

// allMembers appends the pids in a cage's groups, including those of inner runs; it appends none for a cage without groups.
func allMembers(pids []int, c cage) []int {
	pids, _ = c.members(pids)
	return pids
}
