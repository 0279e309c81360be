package inventory

import "time"

// snapshot is an answer that is kept for later pages.
type snapshot struct {
	key   string
	ans   *answer
	used  uint64 // the number of its last use, to find the least recently used
	timer *time.Timer
}

// snapshot returns the snapshot of key; nil if there is none or it is too old. The caller holds v.mu.
func (v *Inventory) snapshot(key string) *snapshot {
	s := v.snapshots[key]
	if s == nil {
		return nil
	}
	if v.o.Now().Sub(s.ans.at) >= v.o.SnapshotTTL {
		v.stats.Expired++
		v.evict(s)
		return nil
	}
	v.uses++
	s.used = v.uses
	return s
}

// keep stores ans as the snapshot of key, replaces an older one, and makes room. Its age counts from when the reading began. If it is too
// old or too large it is not stored. The caller holds v.mu.
func (v *Inventory) keep(key string, ans *answer) {
	if old := v.snapshots[key]; old != nil {
		v.evict(old)
	}
	left := v.o.SnapshotTTL - v.o.Now().Sub(ans.at)
	if left <= 0 {
		return // the reading took longer than that
	}
	size := ans.table.weight()
	if size > int64(v.o.MaxSnapshotBytes) {
		v.stats.TooLarge++
		return
	}
	for len(v.snapshots) >= v.o.MaxSnapshots || v.kept+size > int64(v.o.MaxSnapshotBytes) {
		var oldest *snapshot
		for _, s := range v.snapshots {
			if oldest == nil || s.used < oldest.used {
				oldest = s
			}
		}
		v.stats.Evicted++
		v.evict(oldest)
	}
	v.uses++
	s := &snapshot{key: key, ans: ans, used: v.uses}
	s.timer = time.AfterFunc(left, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.snapshots[key] == s {
			v.stats.Expired++
			v.evict(s)
		}
	})
	ans.refs++
	v.snapshots[key] = s
	v.kept += size
}

// evict drops a snapshot. Requests that read it can do so to the end. The caller holds v.mu.
func (v *Inventory) evict(s *snapshot) {
	s.timer.Stop()
	delete(v.snapshots, s.key)
	v.kept -= s.ans.table.weight()
	v.drop(s.ans)
}
