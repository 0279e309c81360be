package memory

import (
	"context"
	"fmt"
	"maps"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

// AddPreview tells what an Add of many records would come to.
type AddPreview struct {
	New     int // records that would be stored
	Merged  int // that are there already, or are twice among them
	Refused int // that were forgotten once
	LeftOut int // that have no room beside newer ones of them, and beside the user's own
	// Fit are the new and merged ones, in their order.
	Fit []Record
	// Passages is the number of different passages among Fit.
	Passages int
}

// WouldAdd returns which of some records, the oldest first, would stay if they were added together. It leaves out those that the bounds would remove
// again; of too many for a namespace, the newest stay. It changes nothing.
func (s *Store) WouldAdd(ctx context.Context, records []Record) (AddPreview, error) {
	if err := s.readForgotten(); err != nil {
		return AddPreview{}, err
	}
	rooms, err := s.findRooms(ctx, records)
	if err != nil {
		return AddPreview{}, err
	}
	var out AddPreview
	kept := make([]bool, len(records))
	seen := map[string]map[archive.Key]bool{} // of each namespace; false for what had no room
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if err := r.check(); err != nil {
			return AddPreview{}, fmt.Errorf("record %d of %d: %w", i+1, len(records), err)
		}
		if s.isForgotten(r) {
			out.Refused++
			continue
		}
		key, room := s.passageKey(r), rooms.of[r.Namespace]
		if seen[r.Namespace] == nil {
			seen[r.Namespace] = map[archive.Key]bool{}
		}
		fits, twice := seen[r.Namespace][key]
		_, known := room.known[key]
		switch {
		case twice && fits:
			out.Merged++
			kept[i] = true
			continue
		case known && (!room.scarce || r.Origin == OriginUser): // it has its place already
		case !rooms.takeRoom(room, r):
			out.LeftOut++
			seen[r.Namespace][key] = false
			continue
		}
		if known {
			out.Merged++
		} else {
			out.New++
		}
		out.Passages++
		seen[r.Namespace][key], kept[i] = true, true
	}
	for i := range records {
		if kept[i] {
			out.Fit = append(out.Fit, records[i])
		}
	}
	return out, nil
}

// aboutLine is about what a record takes on the disk beside its text, in bytes, and rather more.
const aboutLine = 160

// rooms hold the space that the bounds leave beside the user's own.
type rooms struct {
	of    map[string]*room
	bytes int64 // of all namespaces together
}

type room struct {
	left   usage
	scarce bool                     // not all fits: what is there of others has to make room, and has none by being there
	known  map[archive.Key]struct{} // the passages that are there
}

// takeRoom takes the room for a record out of one namespace and returns true; if there is too little, it takes none and returns false.
func (rs *rooms) takeRoom(in *room, r *Record) bool {
	size := int64(len(r.Text)) + aboutLine
	if in.left.Records < 1 || in.left.Bytes < size || rs.bytes < size {
		return false
	}
	in.left.Records--
	in.left.Bytes -= size
	rs.bytes -= size
	return true
}

// findRooms returns the room that each namespace of records has for them. If they all fit, it is what the bounds leave, else what they would leave
// after an eviction.
func (s *Store) findRooms(ctx context.Context, records []Record) (*rooms, error) {
	out := &rooms{of: map[string]*room{}}
	wanted := map[string]usage{} // of what is not there yet
	total := int64(0)
	for i := range records {
		r := &records[i]
		if out.of[r.Namespace] == nil {
			known, err := s.knownPassages(r.Namespace)
			if err != nil {
				return nil, err
			}
			out.of[r.Namespace] = &room{known: known}
		}
		if _, known := out.of[r.Namespace].known[s.passageKey(r)]; !known {
			size := int64(len(r.Text)) + aboutLine
			u := wanted[r.Namespace]
			u.Bytes, u.Records, total = u.Bytes+size, u.Records+1, total+size
			wanted[r.Namespace] = u
		}
	}
	names, err := s.Namespaces()
	if err != nil {
		return nil, err
	}
	var all, own int64
	owns := map[string]usage{}
	alls := map[string]usage{}
	for _, name := range names {
		v, err := s.surveyLines(ctx, name)
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
	fits := func(most, there, more int64) bool { return there+more <= most }
	kept := func(most, own int64) int64 { return max(most*keptPercent/100-own, 0) }
	maxBytes, maxNamespace, maxRecords := int64(s.o.MaxBytes), int64(s.o.MaxNamespace), int64(s.o.MaxRecords)
	out.bytes = maxBytes - all
	for name, r := range out.of {
		there, mine, more := alls[name], owns[name], wanted[name]
		r.left = usage{maxNamespace - there.Bytes, maxRecords - there.Records}
		r.scarce = !fits(maxBytes, all, total) || !fits(maxNamespace, there.Bytes, more.Bytes) || !fits(maxRecords, there.Records, more.Records)
		if r.scarce { // the bounds will go down to what an eviction leaves, of which the user's own is the first part
			r.left = usage{kept(maxNamespace, mine.Bytes), kept(maxRecords, mine.Records)}
			out.bytes = kept(maxBytes, own)
		}
	}
	return out, nil
}

// knownPassages returns the keys of the passages that a namespace has, in a map of the caller's own.
func (s *Store) knownPassages(name string) (map[archive.Key]struct{}, error) {
	if err := checkNamespace(name); err != nil {
		return nil, err
	}
	n, err := s.namespace(name)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.catchUp(s); err != nil {
		return nil, err
	}
	return maps.Clone(n.known), nil
}
