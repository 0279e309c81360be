package conversation

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/store"
)

// entry is the record of a message: at off in the file, or in data if it is not written yet.
type entry struct {
	off  int64
	size int
	role agent.Role
	data []byte
}

// fileContents is the content of a file.
type fileContents struct {
	head     headerRecord
	headErr  error // why there is no head; nil when there is one
	entries  []entry
	messages []agent.Message // of entries
	good     int64           // the end of the last line that is whole
	torn     int64           // bytes behind good, of an unfinished line
	damage   error           // why the first of the skipped lines is invalid; nil if none was skipped
	passed   int             // skipped lines
	cut      int             // messages left out because of the bound
}

// readFile reads the file of a conversation. It skips invalid lines and keeps only the newest whole turns, at most maxBytes together, so
// that a file of any size can be read. The error is that of r; damage is told in the result.
func readFile(r io.Reader, maxBytes int64) (*fileContents, error) {
	f := &fileContents{headErr: errors.New("it has no head")}
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	var kept int64
	for {
		size, whole, err := store.ReadLine(in, &line, maxBytes)
		if err != nil {
			return nil, err
		}
		if !whole {
			f.torn = size
			break
		}
		at := f.good
		f.good += size
		if size > int64(len(line))+1 {
			f.addSkipped(at, store.ErrLong)
			continue
		}
		if at == 0 {
			if f.head, f.headErr = parseHeader(line); f.headErr == nil {
				continue
			}
		}
		m, err := parseMessage(line)
		if err != nil {
			f.addSkipped(at, err)
			continue
		}
		f.entries = append(f.entries, entry{off: at, size: int(size), role: m.Role})
		f.messages = append(f.messages, m)
		if kept += size; kept > 2*maxBytes {
			kept = f.dropOldest(maxBytes)
		}
	}
	if kept > maxBytes {
		f.dropOldest(maxBytes)
	}
	if f.headErr != nil && f.good > 0 && f.damage == nil {
		f.damage = f.headErr // the first line is a message
	}
	return f, nil
}

// addSkipped counts a line that cannot be read; the first one is the damage.
func (f *fileContents) addSkipped(at int64, why error) {
	if f.passed++; f.damage == nil {
		f.damage = fmt.Errorf("at byte %d: %w", at, why)
	}
}

// dropOldest drops the oldest turns until at most maxBytes are left, and returns how many bytes are left.
func (f *fileContents) dropOldest(maxBytes int64) int64 {
	keep := chooseKept(f.entries, maxBytes, maxBytes)
	var total int64
	n := 0
	for i, e := range f.entries {
		if !keep[i] {
			f.cut++
			continue
		}
		f.entries[n], f.messages[n] = e, f.messages[i]
		total += int64(e.size)
		n++
	}
	clear(f.messages[n:])
	f.entries, f.messages = f.entries[:n], f.messages[:n]
	return total
}
