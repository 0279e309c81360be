package spool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// freeLine returns how many bytes the spool leaves free on its file system; 0 if there is no bound or the free space is not known. On a
// disk that was nearly full when the spool was opened it is half of what was free then.
func freeLine(o Options) int64 {
	if o.FreeMin < 0 {
		return 0
	}
	total, free, ok := diskspace.Of(o.Dir)
	if !ok {
		return 0
	}
	line := int64(o.FreeMin)
	if line == 0 {
		line = min(max(total/20, int64(256*limit.MiB)), int64(2*limit.GiB))
	}
	return min(line, free/2)
}

// makeRoom evicts expired entries, then the least recently used ones, until bytes more in the ledger, written more on the disk and results
// more entries fit. The error is a *[Full]. The caller holds the ledger.
func (s *Spool) makeRoom(l *ledger, bytes, written int64, results int) error {
	free, known := int64(0), false
	if s.freeLine > 0 {
		_, free, known = diskspace.Of(s.o.Dir)
	}
	missing := func() string {
		switch {
		case len(l.accounts)+results > s.o.MaxResults:
			return "count"
		case l.bytes()+bytes > int64(s.o.MaxBytes):
			return "quota"
		case known && free-written < s.freeLine:
			return "disk"
		}
		return ""
	}
	if missing() == "" {
		return nil
	}
	s.sweep(l)
	order := slices.Clone(l.accounts)
	sorting.StableBy(order, func(a, b account) int { return cmp.Compare(a.used, b.used) })
	var forCount, forBytes tally
	for _, a := range order {
		why := missing()
		if why == "" {
			break
		}
		if a.writing || s.live[a.id] != nil || !s.evict(l, a) {
			continue
		}
		free += a.bytes // the files are deleted after the lock was released
		if why == "count" {
			forCount.add(a)
		} else {
			forBytes.add(a)
		}
	}
	forCount.tell(s, "count")
	forBytes.tell(s, "bytes")
	switch why := missing(); why {
	case "":
		return nil
	case "count":
		return &Full{Dir: s.o.Dir, Why: why, Limit: int64(s.o.MaxResults)}
	case "quota":
		return &Full{Dir: s.o.Dir, Why: why, Limit: int64(s.o.MaxBytes)}
	}
	return &Full{Dir: s.o.Dir, Why: "disk", Err: fmt.Errorf("%s are free on its file system, and %s stay free",
		limit.Bytes(free).Human(), limit.Bytes(s.freeLine).Human())}
}
