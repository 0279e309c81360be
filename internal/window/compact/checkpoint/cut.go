package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Entry describes one compaction. It holds no text of the conversation.
type Entry struct {
	// ID names the entry for [Store.Read]. Put fills it in.
	ID string `json:"id"`
	// Conversation is the conversation's name, the same over all its compactions.
	Conversation string    `json:"conversation"`
	Time         time.Time `json:"time"`
	Upstream     string    `json:"upstream,omitempty"`
	Dialect      string    `json:"dialect"`
	Model        string    `json:"model"`
	Rungs        []string  `json:"rungs"` // those that did something, in order
	Before       int       `json:"before_tokens"`
	After        int       `json:"after_tokens"`
	Messages     int       `json:"messages"` // changed, replaced or dropped
	CutBytes     int64     `json:"cut_bytes"`
	// Incomplete is true when the text was too large to be kept whole: its end is missing.
	Incomplete bool `json:"incomplete,omitempty"`
	// StoredBytes is the size of the entry's file on the disk. List fills it in.
	StoredBytes int64 `json:"stored_bytes"`
}

// A Cut is an entry with the text: the messages that were changed or dropped, as they were
// sent, one JSON value a line.
type Cut struct {
	Entry
	Text []byte
}

const (
	// maxCutText is the most text one compaction keeps to be shown, in bytes.
	maxCutText = 64 << 20
	// maxEntry bounds the JSON of an entry, so that a listing never reads a text.
	maxEntry = 16 << 10
)

const cutMagic = "plimsoll-cut1\n"

// entryID returns the ID of the entry for the cut c, which is stored under k.
func entryID(k key, c *Checkpoint) string {
	return hex.EncodeToString(k.chain[:6]) + "-" + strconv.Itoa(c.Generation)
}

// EntryID returns the ID under which [Store.Read] finds the entry of a checkpoint.
func EntryID(c *Checkpoint) string { return entryID(key{chain: c.Chain}, c) }

// cutName returns the name of the file for the cut that belongs to c.
func cutName(k key, c *Checkpoint) string {
	return hex.EncodeToString(k.chain[:]) + "-" + strconv.Itoa(c.Generation) + cutEnd
}

// encode returns a cut as the contents of a file: the entry as JSON, and the compressed text with a checksum. The text is shortened until
// it takes at most maxBytes compressed.
func (c Cut) encode(k key, of *Checkpoint, maxBytes int64) []byte {
	c.ID = entryID(k, of)
	c.Model = c.Model[:min(len(c.Model), 200)]
	text := c.Text
	if len(text) > maxCutText {
		text, c.Incomplete = text[:maxCutText], true
	}
	small := compress(text)
	for int64(len(small)) > maxBytes && len(text) > 0 {
		text, c.Incomplete = text[:len(text)/2], true
		small = compress(text)
	}
	c.StoredBytes = 0
	head, err := json.Marshal(c.Entry)
	if err != nil || len(head) > maxEntry {
		// Only a time out of range or absurdly many rungs can do this.
		head, _ = json.Marshal(Entry{ID: c.ID, Conversation: c.Conversation[:min(len(c.Conversation), 64)]})
	}
	out := append(make([]byte, 0, len(cutMagic)+4+len(head)+64+len(small)), cutMagic...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	return append(append(out, head...), addChecksum(small)...)
}

// readEntry reads the entry of a cut's file and leaves r at its text. The error is errDamaged.
func readEntry(r io.Reader) (e Entry, err error) {
	start := make([]byte, len(cutMagic)+4)
	if _, err := io.ReadFull(r, start); err != nil || !bytes.HasPrefix(start, []byte(cutMagic)) {
		return e, fmt.Errorf("%w: no header", errDamaged)
	}
	n := binary.BigEndian.Uint32(start[len(cutMagic):])
	if n > maxEntry {
		return e, fmt.Errorf("%w: an entry of %d bytes", errDamaged, n)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return e, fmt.Errorf("%w: it ends early", errDamaged)
	}
	if err := json.Unmarshal(head, &e); err != nil {
		return e, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return e, nil
}

// decodeCut returns the cut in a file that Cut.encode made. The error is errDamaged.
func decodeCut(file []byte) (Cut, error) {
	r := bytes.NewReader(file)
	e, err := readEntry(r)
	if err != nil {
		return Cut{}, err
	}
	e.StoredBytes = int64(len(file))
	small, err := verifyChecksum(file[len(file)-r.Len():])
	if err != nil {
		return Cut{}, err
	}
	text, err := decompress(small)
	if err != nil {
		return Cut{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return Cut{Entry: e, Text: text}, nil
}

// List returns the entries of all scopes, newest first. Damaged files are renamed and left out.
func (s *Store) List() ([]Entry, error) {
	var list []Entry
	err := s.forEachCut(func(f stored) error {
		file, err := statefile.Open(f.path, os.O_RDONLY, 0)
		if err != nil {
			return nil // removed meanwhile
		}
		e, err := readEntry(file)
		_ = file.Close()
		if err != nil {
			s.setAside(f.path, f.size)
			return nil
		}
		e.StoredBytes = f.size
		list = append(list, e)
		return nil
	})
	sorting.By(list, func(a, b Entry) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// ErrUnknown means that there is no entry with that ID: it was never there, or was removed.
var ErrUnknown = errors.New("checkpoint: no such entry")

// Read returns the entry of an ID with its text. The error is ErrUnknown, or says that the file is damaged or the directory cannot be read.
func (s *Store) Read(id string) (found Cut, err error) {
	err = ErrUnknown
	digest, generation, ok := strings.Cut(id, "-")
	if !ok || digest == "" {
		return found, fmt.Errorf("%w: %.40q; `plimsoll runs --cuts` lists them", ErrUnknown, id)
	}
	walkErr := s.forEachCut(func(f stored) error {
		name := filepath.Base(f.path)
		if !strings.HasPrefix(name, digest) || !strings.HasSuffix(name, "-"+generation+cutEnd) || f.size > maxFile {
			return nil
		}
		file, readErr := statefile.Read(f.path, maxFile)
		if readErr != nil {
			return nil
		}
		cut, decodeErr := decodeCut(file)
		if decodeErr != nil {
			s.setAside(f.path, f.size)
			err = decodeErr
			return nil
		}
		if cut.ID == id {
			found, err = cut, nil
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w: %.40q", err, id)
	}
	return found, errors.Join(walkErr, err)
}

// Which selects the entries that [Store.Remove] removes; conditions that are set must all hold.
type Which struct {
	Conversation string        // one conversation, by its name
	OlderThan    time.Duration // not used for that long
	All          bool          // everything, whatever the other fields say
}

// Remove removes the files of conversations, their checkpoints and cuts, and returns the number of files and their bytes. A conversation
// that goes on is compacted anew. The zero Which removes nothing.
func (s *Store) Remove(which Which) (files int, bytes int64, err error) {
	if s == nil || which == (Which{}) {
		return 0, 0, nil
	}
	s.mu.Lock()
	s.memory = memory{max: s.o.MemoryBytes}
	clear(s.listing)
	s.mu.Unlock()
	if s.o.Dir == "" {
		return 0, 0, nil
	}
	now := time.Now()
	remove := func(f stored) {
		if removeErr := os.Remove(f.path); removeErr == nil {
			files++
			bytes += f.size
		} else if !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	all := s.listFiles()
	// A checkpoint does not say which conversation it is of; the cuts beside it do.
	gone := map[string]bool{} // checkpoints to remove
	for _, f := range all {
		if which.All || which.Conversation == "" && now.Sub(f.time) > which.OlderThan {
			remove(f)
			continue
		}
		if which.Conversation == "" || !strings.HasSuffix(f.path, cutEnd) {
			continue
		}
		e, readErr := entryOf(f.path)
		if readErr == nil && e.Conversation == which.Conversation && now.Sub(f.time) >= which.OlderThan {
			at := strings.LastIndexByte(f.path, '-')
			gone[f.path[:max(0, at)]+checkpointEnd] = true
			remove(f)
		}
	}
	for _, f := range all {
		if gone[f.path] {
			remove(f)
		}
	}
	s.mu.Lock()
	s.disk.bytes -= bytes
	s.disk.files -= files
	s.mu.Unlock()
	return files, bytes, err
}

// entryOf reads the entry of a cut's file.
func entryOf(path string) (Entry, error) {
	file, err := statefile.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return Entry{}, err
	}
	defer file.Close()
	return readEntry(file)
}

// forEachCut calls f for every file with a cut, until f returns an error, which it returns.
func (s *Store) forEachCut(f func(stored) error) error {
	if s == nil || s.o.Dir == "" {
		return nil
	}
	if _, err := os.ReadDir(s.o.Dir); err != nil {
		return fmt.Errorf("checkpoint: list the conversations: %w", err)
	}
	for _, one := range s.listFiles() {
		if strings.HasSuffix(one.path, cutEnd) {
			if err := f(one); err != nil {
				return err
			}
		}
	}
	return nil
}
