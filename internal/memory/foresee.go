package memory

import (
	"context"
	"fmt"
	"maps"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

// Foreseen tells what an Add of many records would come to.
type Foreseen struct {
	New     int // records that would be stored
	Merged  int // that are there already, or are twice among them
	Refused int // that were forgotten once
	LeftOut int // that have no room beside newer ones of them, and beside the user's own
	// Fit are the new and merged ones, in their order.
	Fit []Record
	// Stay is the number of different passages among Fit.
	Stay int
}

// Foresee looks at records, the oldest first, that are to be added together, and leaves out those that the bounds would take away again: of more
// than fits into a namespace beside the user's own, the newest stay. It changes nothing.
func (s *Store) Foresee(ctx context.Context, records []Record) (Foreseen, error) {
	if err := s.readForgotten(); err != nil {
		return Foreseen{}, err
	}
	rooms, err := s.roomsFor(ctx, records)
	if err != nil {
		return Foreseen{}, err
	}
	var out Foreseen
	kept := make([]bool, len(records))
	seen := map[string]map[archive.Key]bool{} // of each namespace; false for what had no room
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if err := r.check(); err != nil {
			return Foreseen{}, fmt.Errorf("record %d of %d: %w", i+1, len(records), err)
		}
		if s.isForgotten(r) {
			out.Refused++
			continue
		}
		key, room := s.identity(r), rooms.of[r.Namespace]
		if seen[r.Namespace] == nil {
			seen[r.Namespace] = map[archive.Key]bool{}
		}
		fits, twice := seen[r.Namespace][key]
		if _, known := room.known[key]; known || twice && fits {
			out.Merged++
			kept[i] = true
			if !twice {
				out.Stay++
				seen[r.Namespace][key] = true
			}
			continue
		}
		size := int64(len(r.Text)) + minLine
		if room.left.Records < 1 || room.left.Bytes < size || rooms.bytes < size {
			out.LeftOut++
			seen[r.Namespace][key] = false
			continue
		}
		room.left.Records--
		room.left.Bytes -= size
		rooms.bytes -= size
		seen[r.Namespace][key], kept[i] = true, true
		out.New++
		out.Stay++
	}
	for i := range records {
		if kept[i] {
			out.Fit = append(out.Fit, records[i])
		}
	}
	return out, nil
}

// rooms hold the space that the bounds leave beside the user's own.
type rooms struct {
	of    map[string]*room
	bytes int64 // of all namespaces together
}

type room struct {
	left  usage
	known map[archive.Key]struct{} // the passages that are there
}

// roomsFor returns the rooms for records. Where they fit beside all that is there it is up to the bound, else up to what an eviction leaves.
func (s *Store) roomsFor(ctx context.Context, records []Record) (*rooms, error) {
	wanted := map[string]*usage{}
	total := int64(0)
	for i := range records {
		u := wanted[records[i].Namespace]
		if u == nil {
			u = &usage{}
			wanted[records[i].Namespace] = u
		}
		size := int64(len(records[i].Text)) + minLine
		u.Bytes, u.Records, total = u.Bytes+size, u.Records+1, total+size
	}
	out := &rooms{of: map[string]*room{}}
	names, err := s.Namespaces()
	if err != nil {
		return nil, err
	}
	var all, own int64
	owns := map[string]usage{}
	alls := map[string]usage{}
	for _, name := range names {
		v, err := s.survey(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, c := range v.all {
			a, o := alls[name], owns[name]
			a.Records, a.Bytes, all = a.Records+1, a.Bytes+int64(c.size), all+int64(c.size)
			if c.class >= classOwn {
				o.Records, o.Bytes, own = o.Records+1, o.Bytes+int64(c.size), own+int64(c.size)
			}
			alls[name], owns[name] = a, o
		}
	}
	left := func(most, there, own, more int64) int64 {
		if there+more <= most {
			return most - there
		}
		return max(most*keptPercent/100-own, 0)
	}
	for name, more := range wanted {
		if err := checkNamespace(name); err != nil {
			return nil, err
		}
		n, err := s.namespace(name)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		err = n.catchUp(s)
		known := maps.Clone(n.known)
		n.mu.Unlock()
		if err != nil {
			return nil, err
		}
		out.of[name] = &room{known: known, left: usage{
			Bytes:   left(int64(s.o.MaxNamespace), alls[name].Bytes, owns[name].Bytes, more.Bytes),
			Records: left(int64(s.o.MaxRecords), alls[name].Records, owns[name].Records, more.Records),
		}}
	}
	out.bytes = left(int64(s.o.MaxBytes), all, own, total)
	return out, nil
}
