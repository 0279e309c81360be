package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// Wish asks the plimsoll that supervises a run for a higher limit, of memory or of what it may spend. It is a file beside the ledger: the run looks for one whenever it
// publishes its use, and writes an [Answer].
type Wish struct {
	// Number is a random name by which the answer is matched to the wish.
	Number string `json:"number"`
	// Memory is the memory limit that the run is to have, in bytes.
	Memory limit.Bytes `json:"memory_bytes"`
	// Limit names another limit that is to be raised, By a number or To one, in the limit's own unit; "" is that of memory.
	Limit string  `json:"limit,omitempty"`
	By    float64 `json:"by,omitempty"`
	To    float64 `json:"to,omitempty"`
	// Force raises the limit even where other runs have reserved the memory.
	Force bool `json:"force,omitempty"`
}

// Answer is the outcome of a [Wish].
type Answer struct {
	Number string `json:"number"`
	// From and To are the memory limit before and after, in bytes.
	From limit.Bytes `json:"from_bytes"`
	To   limit.Bytes `json:"to_bytes"`
	// Refused says why the limit was not raised, "" when it was.
	Refused string `json:"refused,omitempty"`
	// Words say what another limit than memory is now.
	Words string `json:"words,omitempty"`
	// Note is a remark for the person.
	Note string `json:"note,omitempty"`
}

// maxWish bounds the file of a wish or an answer, in bytes.
const maxWish = 4096

// wishPatience bounds the wait of a wish for its answer: a run looks at least every two seconds. wishPoll is the time between two looks for
// it.
const (
	wishPatience = 10 * time.Second
	wishPoll     = 50 * time.Millisecond
)

// wishPath returns the file in which somebody asks the run of a claim for something.
func (l *Ledger) wishPath(id string) string { return filepath.Join(l.dir, "wishes", id+".json") }

// answerPath returns the file in which a run answers a wish.
func (l *Ledger) answerPath(id string) string {
	return filepath.Join(l.dir, "wishes", id+".answer.json")
}

// Ask hands a wish to the run that holds the claim id, and waits for its answer. It is an error when none comes within 10 seconds; the wish is
// taken back then.
func (l *Ledger) Ask(ctx context.Context, id string, w Wish) (Answer, error) {
	if !ValidID(id) {
		return Answer{}, fmt.Errorf("admission: %w: the id %q is not 1 to 64 letters, digits, - and _", ErrRequest, id)
	}
	w.Number = makeID()
	if err := os.MkdirAll(filepath.Dir(l.wishPath(id)), 0o700); err != nil {
		return Answer{}, l.unavailableError(err)
	}
	if err := writeWish(l.wishPath(id), w); err != nil {
		return Answer{}, l.unavailableError(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wishPatience, fmt.Errorf("the plimsoll of run %s does not answer: it is stopped, or has just ended", id))
	defer cancel()
	for {
		var a Answer
		if text, err := statefile.Read(l.answerPath(id), maxWish); err == nil && json.Unmarshal(text, &a) == nil && a.Number == w.Number {
			_ = os.Remove(l.answerPath(id))
			return a, nil
		}
		if err := sleep(ctx, wishPoll); err != nil {
			_ = os.Remove(l.wishPath(id))
			return Answer{}, err
		}
	}
}

// Wished returns the wish that somebody has left for this run, and removes it; ok is false if there is none or it is damaged. It is cheap enough
// to be called often.
func (c *Claim) Wished() (w Wish, ok bool) {
	c.mu.Lock()
	if c.wish == "" {
		c.wish = c.ledger.wishPath(c.id)
	}
	path := c.wish
	c.mu.Unlock()
	if sysfile.IsMissing(path) { // as good as always, and it makes no garbage
		return w, false
	}
	return takeWish(path)
}

// takeWish reads the wish in a file and removes the file. ok is false if there is no such file, or if it is invalid; an invalid one is
// removed too.
func takeWish(path string) (w Wish, ok bool) {
	text, err := statefile.Read(path, maxWish)
	if errors.Is(err, fs.ErrNotExist) {
		return w, false
	}
	_ = os.Remove(path)
	return w, err == nil && json.Unmarshal(text, &w) == nil
}

// Answer writes the outcome of a wish for the process that asked.
func (c *Claim) Answer(a Answer) error { return writeWish(c.ledger.answerPath(c.id), a) }

// writeWish writes a wish or an answer into a file of its own, whole or not at all.
func writeWish(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Replacement{Name: path, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: path + ".tmp"}.Write(text)
}
