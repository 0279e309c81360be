package conversation

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/agent"
)

// entry is a message's record: in the file at off, or in data when it is new.
type entry struct {
	off  int64
	size int
	role agent.Role
	data []byte
}

// found is what a file holds.
type found struct {
	head     head
	headErr  error // why there is no head; nil when there is one
	entries  []entry
	messages []agent.Message // of entries
	good     int64           // the end of the last line that is whole
	torn     int64           // bytes behind it
	damage   error           // why a whole line was passed over; the first one
	passed   int             // how many such lines
	cut      int             // messages left out because of the bound
}

// read reads a file. Of lines that are no records it goes on behind; of the records it keeps
// the newest whole turns that have at most the given bytes together, whatever the file has.
func read(r io.Reader, most int64) (*found, error) {
	f := &found{headErr: errors.New("it has no head")}
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	var kept int64
	for {
		size, whole, err := readLine(in, &line, most)
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
			f.passOver(at, errLong)
			continue
		}
		if at == 0 {
			if f.head, f.headErr = parseHead(line); f.headErr == nil {
				continue
			}
		}
		m, err := parseBody(line)
		if err != nil {
			f.passOver(at, err)
			continue
		}
		f.entries = append(f.entries, entry{off: at, size: int(size), role: m.Role})
		f.messages = append(f.messages, m)
		if kept += size; kept > 2*most {
			kept = f.fit(most)
		}
	}
	if kept > most {
		f.fit(most)
	}
	if f.headErr != nil && f.good > 0 && f.damage == nil {
		f.damage = f.headErr // the first line is a message
	}
	return f, nil
}

func (f *found) passOver(at int64, why error) {
	if f.passed++; f.damage == nil {
		f.damage = fmt.Errorf("at byte %d: %w", at, why)
	}
}

// fit leaves out the oldest turns.
func (f *found) fit(most int64) int64 {
	keep := choose(f.entries, most, most)
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

// readLine reads one line without its line feed into line: of one with more than most bytes
// the beginning. Size is what was read; whole is false at the end of the file, where there
// may be a line without an end.
func readLine(in *bufio.Reader, line *[]byte, most int64) (size int64, whole bool, err error) {
	*line = (*line)[:0]
	for {
		piece, err := in.ReadSlice('\n')
		size += int64(len(piece))
		if room := most - int64(len(*line)); room > 0 {
			*line = append(*line, piece[:min(int64(len(piece)), room)]...)
		}
		switch {
		case err == nil:
			if n := len(*line); int64(n) == size {
				*line = (*line)[:n-1]
			}
			return size, true, nil
		case errors.Is(err, io.EOF):
			return size, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return size, false, err
		}
	}
}
