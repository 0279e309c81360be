package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// usageMark is in the lines of runs that asked a model.
var usageMark = []byte(`"usage":[`)

// AskedSince gives the runs that asked a model and ended since a time, the last one to end first, and returns the size of the index. While that is known, from
// an earlier call, nothing has ended and none is given. It reads as much of the end of the index as it needs and holds one line, for who has little memory.
func AskedSince(stateDir string, known int64, since time.Time, give func(*Entry)) (size int64, err error) {
	root, err := statefile.OpenRoot(dirOf(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	f, err := statefile.OpenIn(root, indexName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == known {
		return known, err
	}
	end := min(info.Size(), maxIndex)
	buffer := make([]byte, min(end, 2*maxIndexLine))
	for at := end; at > 0; {
		text := buffer[:min(at, int64(len(buffer)))]
		start := at - int64(len(text))
		if _, err := f.ReadAt(text, start); err != nil {
			return 0, err
		}
		for len(text) > 0 {
			cut := bytes.LastIndexByte(text[:len(text)-1], '\n')
			if cut < 0 && start > 0 {
				break // the line begins further up
			}
			last := text[cut+1:]
			text = text[:cut+1]
			switch ended, ok := endedOf(last); {
			case ok && ended.Before(since):
				return info.Size(), nil
			case ok && bytes.Contains(last, usageMark):
				var l indexLine
				if json.Unmarshal(last, &l) == nil {
					give(&l.Entry)
				}
			}
		}
		if next := start + int64(len(text)); next < at {
			at = next
		} else { // a line longer than any of ours
			at = start
		}
	}
	return info.Size(), nil
}

// endedOf returns when the run of a line of the index ended, without decoding the line.
func endedOf(line []byte) (at time.Time, ok bool) {
	_, rest, ok := bytes.Cut(line, []byte(`,"ended":"`))
	text, _, closed := bytes.Cut(rest, []byte{'"'})
	if !ok || !closed || !bytes.HasSuffix(line, []byte{'\n'}) {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}
