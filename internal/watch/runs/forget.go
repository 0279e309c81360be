package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Words finds and overwrites the texts to forget.
type Words interface {
	// In reports whether they occur in a text.
	In(text []byte) bool
	// Blot overwrites them without changing the length of text, and returns the number of places.
	Blot(text []byte) int
}

// Forget overwrites words with stars in the files of runs and in the index, in place: lines keep their length, so that who appends to a
// file or reads along is not disturbed, and the run stays in the list. It returns the IDs of the runs whose files had them, and
// "index.jsonl" for the index. In a run that lives it overwrites what is written so far and, at its end, the command line; later lines are
// not changed. With dry nothing is changed.
func Forget(stateDir string, words Words, dry bool) (ids []string, err error) {
	root, err := statefile.OpenRoot(storeDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	found := map[string]bool{}
	living, err := forgetFiles(root, words, dry, found, &ids)
	if living && !dry {
		time.Sleep(flushAfter + flushAfter/2) // what its writer has taken before is in the file by then
		_, again := forgetFiles(root, words, dry, found, &ids)
		err = errors.Join(err, again)
	}
	return ids, errors.Join(err, forgetIndex(root, words, dry, found, &ids))
}

// forgetFiles overwrites words in the files of all runs, and adds the runs that had them to found and ids. living reports whether there are
// runs whose writer still lives.
func forgetFiles(root *os.Root, words Words, dry bool, found map[string]bool, ids *[]string) (living bool, err error) {
	days, err := dayFolders(root)
	if err != nil {
		return false, err
	}
	for _, day := range days {
		names, oneErr := namesIn(root, day)
		err = errors.Join(err, oneErr)
		for _, base := range names {
			name := day + "/" + base
			id, ok := runID(base)
			if !ok {
				continue // nothing that a run has written
			}
			living = living || isLocked(root, name)
			places, oneErr := blotFile(root, name, words, dry)
			if oneErr != nil && !errors.Is(oneErr, fs.ErrNotExist) && !errors.Is(oneErr, statefile.ErrNotRegular) {
				err = errors.Join(err, fmt.Errorf("the file of run %s: %w", id, oneErr))
			}
			if places > 0 && !found[id] {
				found[id] = true
				*ids = append(*ids, id)
			}
		}
	}
	return living, err
}

// forgetIndex overwrites words in the index, under its lock, or with dry only looks for them. If some are there, the index is added to
// found and ids, once.
func forgetIndex(root *os.Root, words Words, dry bool, found map[string]bool, ids *[]string) error {
	lock, err := lockIndex(root)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Release(lock) }()
	places, err := blotFile(root, indexName, words, dry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if places > 0 && !found[indexName] {
		found[indexName] = true
		*ids = append(*ids, indexName)
	}
	return err
}

// blotFile overwrites the words in one file, line by line, and returns the number of places. With dry it only counts them.
func blotFile(root *os.Root, name string, words Words, dry bool) (places int, err error) {
	mode := os.O_RDWR
	if dry {
		mode = os.O_RDONLY
	}
	f, err := statefile.OpenIn(root, name, mode, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	at := int64(0)
	buf := make([]byte, 0, 256<<10)
	for {
		n, readErr := f.ReadAt(buf[len(buf):cap(buf)], at+int64(len(buf)))
		buf = buf[:len(buf)+n]
		end := bytes.LastIndexByte(buf, '\n') + 1
		last := errors.Is(readErr, io.EOF) || n == 0 && readErr == nil
		if last || end == 0 && len(buf) == cap(buf) { // a last line without an end, or one that is none
			end = len(buf)
		}
		if readErr != nil && !last {
			return places, readErr
		}
		for from := 0; from < end; {
			to := end
			if i := bytes.IndexByte(buf[from:end], '\n'); i >= 0 {
				to = from + i
			}
			if k := blotLine(buf[from:to], words); k > 0 {
				places += k
				if !dry {
					if _, err := f.WriteAt(buf[from:to], at+int64(from)); err != nil {
						return places, err
					}
				}
			}
			from = to + 1
		}
		if last {
			break
		}
		at += int64(end)
		buf = buf[:copy(buf, buf[end:])]
	}
	if places > 0 && !dry {
		return places, f.Sync()
	}
	return places, nil
}

// blotLine overwrites the words in a line, and returns the number of places. A line of JSON stays valid: only values that are strings change.
func blotLine(line []byte, words Words) (places int) {
	if !words.In(line) && !bytes.Contains(line, commandStart) {
		return 0
	}
	if !json.Valid(line) {
		return words.Blot(line)
	}
	eachString(line, func(start, end int) {
		value := line[start:end]
		if !words.In(value) {
			return
		}
		if n := words.Blot(value); n > 0 {
			places += n
			if !json.Valid(line[start-1 : end+1]) { // it has cut an escape in two
				fillStars(value)
			}
		}
	})
	return places + blotCommand(line, words)
}

// fillStars overwrites a text with asterisks.
func fillStars(text []byte) {
	for i := range text {
		text[i] = '*'
	}
}

// eachString calls f with the bounds of each string in a JSON text, without its quotes. Keys are left out.
func eachString(line []byte, f func(start, end int)) {
	for at := 0; at < len(line); at++ {
		if line[at] != '"' {
			continue
		}
		start := at + 1
		for at = start; at < len(line) && line[at] != '"'; at++ {
			if line[at] == '\\' {
				at++
			}
		}
		next := at + 1
		for next < len(line) && (line[next] == ' ' || line[next] == '\t') {
			next++
		}
		if next < len(line) && line[next] == ':' {
			continue
		}
		f(start, min(at, len(line)))
	}
}

var commandStart = []byte(`"command":[`)

// blotCommand overwrites words that are spread over several arguments of a command, as a shell has split them, and returns the number of
// arguments.
func blotCommand(line []byte, words Words) (places int) {
	at := bytes.Index(line, commandStart)
	if at < 0 {
		return 0
	}
	begin := at + len(commandStart) - 1
	var args []string
	dec := json.NewDecoder(bytes.NewReader(line[begin:]))
	if dec.Decode(&args) != nil {
		return 0
	}
	whole := strings.Join(args, " ")
	joined := []byte(whole)
	if words.Blot(joined) == 0 {
		return 0
	}
	i, from := 0, 0
	eachString(line[begin:begin+int(dec.InputOffset())], func(start, end int) {
		if i >= len(args) {
			return
		}
		if to := from + len(args[i]); whole[from:to] != string(joined[from:to]) {
			fillStars(line[begin+start : begin+end])
			places++
		}
		from += len(args[i]) + 1
		i++
	})
	return places
}

// commandOnDisk returns the command as the header in the run's file has it now, where words may have been forgotten since; else command. The caller
// holds disk.
func (w *Writer) commandOnDisk(command []string) []string {
	if w.file == nil || len(command) == 0 {
		return command
	}
	first := make([]byte, len(w.first)) // words are blotted out where they stand: the line is as long as it was
	if n, err := w.file.ReadAt(first, 0); n < len(first) || err != nil || bytes.Equal(first, w.first) {
		return command
	}
	if l, err := parse(first); err == nil && l.header != nil && len(l.header.Report.Command) == len(command) {
		return l.header.Report.Command
	}
	return command
}
