package proctree

// pidRing holds the pids of the last 4096 members that ended.
type pidRing struct {
	set   map[int]struct{}
	order []int
	next  int
}

const maxPast = 4096

// add adds pid and reports whether an older one was dropped for it.
func (r *pidRing) add(pid int) (forgot bool) {
	if r.set == nil {
		r.set = make(map[int]struct{})
	}
	if _, ok := r.set[pid]; ok {
		return false
	}
	r.set[pid] = struct{}{}
	if len(r.order) < maxPast {
		r.order = append(r.order, pid)
		return false
	}
	old := r.order[r.next]
	r.order[r.next] = pid
	r.next = (r.next + 1) % maxPast
	_, forgot = r.set[old]
	delete(r.set, old)
	return forgot
}

func (r *pidRing) has(pid int) bool { _, ok := r.set[pid]; return ok }

func (r *pidRing) remove(pid int) { delete(r.set, pid) }
