package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// MaxProfile is the largest size of the profile, without blank lines at its beginning and end.
const MaxProfile = 2 * limit.KiB

// The files of the profile.
const (
	ProfileFile   = "profile.md"             // what the user edits
	confirmedFile = "profile.confirmed.json" // what is in force
	profileLock   = "profile.lock"
)

// ErrPending means that the file was edited and the edit is not confirmed.
var ErrPending = errors.New("the profile was edited, and the edit is not confirmed")

// ErrNoEntry means that the profile has no entry with an id.
var ErrNoEntry = errors.New("the profile has no such entry")

// ErrChanged means that the file is no longer the text that the confirmation was given for.
var ErrChanged = errors.New("the profile has changed since it was shown")

// ProfileOptions configure a [Profile]. Dir is required; a Max of 0 means [MaxProfile].
type ProfileOptions struct {
	Dir string
	Max limit.Bytes
}

// Profile is the Markdown file of the user's standing instructions, of which only a confirmed text is in force.
type Profile struct{ o ProfileOptions }

// NewProfile returns the profile in o.Dir. It touches no file.
func NewProfile(o ProfileOptions) *Profile {
	if o.Max <= 0 {
		o.Max = MaxProfile
	}
	return &Profile{o: o}
}

// Path returns the file to edit.
func (p *Profile) Path() string { return filepath.Join(p.o.Dir, ProfileFile) }

// confirmed is the content of confirmedFile.
type confirmed struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// InForce returns the confirmed text, "" when there is none.
func (p *Profile) InForce() (string, error) {
	c, err := p.readConfirmed()
	return c.Text, err
}

// ConfirmedAt returns the time at which the text in force was confirmed, the zero time when there is none.
func (p *Profile) ConfirmedAt() (time.Time, error) {
	c, err := p.readConfirmed()
	return c.At, err
}

// readConfirmed reads the text that a person has confirmed; "" if there is none. A damaged file is an error, and nothing is pinned then.
func (p *Profile) readConfirmed() (confirmed, error) {
	c, err := p.confirmedFile().Read()
	if _, damaged := errors.AsType[*store.Damage](err); damaged {
		return c, fmt.Errorf("the pinned profile: %s is damaged: nothing is pinned until you confirm %s again", confirmedFile, ProfileFile)
	}
	if err != nil {
		return c, fmt.Errorf("the pinned profile: %w", err)
	}
	return c, nil
}

// confirmedFile returns the file of the confirmed text.
func (p *Profile) confirmedFile() store.Document[confirmed] {
	return store.Document[confirmed]{
		File: store.File{Path: filepath.Join(p.o.Dir, confirmedFile), Max: 64 << 10, Kept: atomicfile.Durable},
		Check: func(c *confirmed) error {
			if len(c.Text) > int(p.o.Max) || !utf8.ValidString(c.Text) {
				return errors.New("its text is none that was confirmed")
			}
			return nil
		},
	}
}

// Draft returns the trimmed text of the file, confirmed or not, "" when there is no file. It returns an error when the text is not UTF-8,
// and the text with a [FullError] when it is too long.
func (p *Profile) Draft() (string, error) {
	body, err := statefile.Read(p.Path(), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the pinned profile: %w", err)
	}
	text := strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(string(body), "\ufeff"), "\r\n", "\n"))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", fmt.Errorf("%s is no text in UTF-8: save it as such", p.Path())
	}
	if len(text) > int(p.o.Max) {
		return text, &FullError{Have: len(text), Max: int(p.o.Max), Entries: Entries(text)}
	}
	return text, nil
}

// Digest returns the digest of a text, as [Profile.Confirm] needs it.
func Digest(text string) string { return digest(text) }

// Confirm puts the file's text in force. shown is the [Digest] of the text that the person who confirms has seen; if the file differs from
// that by now, Confirm returns an [ErrChanged].
func (p *Profile) Confirm(ctx context.Context, shown string) error {
	return p.whileLocked(ctx, func() error {
		draft, err := p.Draft()
		if err != nil {
			return err
		}
		if digest(draft) != shown {
			return ErrChanged
		}
		return p.putInForce(draft)
	})
}

// Pin adds a line to the profile, in force at once, and returns its entry; an entry that is there already is not added again. It is for a
// person's own words only. It returns an [ErrPending] if an edit of the file is not confirmed, and a [FullError] if the line does not fit.
func (p *Profile) Pin(ctx context.Context, text string) (Entry, error) {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if line == "" {
		return Entry{}, errors.New("nothing to pin: the text is empty")
	}
	e := newEntry("- " + line)
	err := p.changeText(ctx, func(draft string) (string, error) {
		for _, old := range Entries(draft) {
			if old.ID == e.ID {
				return draft, nil
			}
		}
		fresh := strings.TrimSpace(draft + "\n- " + line)
		if len(fresh) > int(p.o.Max) {
			return "", &FullError{Have: len(draft), More: len(line) + 3, Max: int(p.o.Max), Entries: Entries(draft)}
		}
		return fresh, nil
	})
	return e, err
}

// Unpin removes the entry with an id; an unknown id is an [ErrNoEntry]. It returns an [ErrPending] if an edit of the file is not confirmed.
func (p *Profile) Unpin(ctx context.Context, id string) error {
	return p.changeText(ctx, func(draft string) (string, error) {
		for _, e := range Entries(draft) {
			if e.ID == id {
				before, after, _ := strings.Cut(draft, e.block)
				return strings.TrimSpace(strings.TrimRight(before, "\n") + "\n" + strings.TrimLeft(after, "\n")), nil
			}
		}
		return "", fmt.Errorf("%w: %s", ErrNoEntry, limit.Clip(id, 64))
	})
}

// changeText writes the result of edit to the file and puts it in force. It returns an [ErrPending] if the file differs from the text in force.
func (p *Profile) changeText(ctx context.Context, edit func(string) (string, error)) error {
	return p.whileLocked(ctx, func() error {
		draft, err := p.Draft()
		if err != nil {
			return err
		}
		c, err := p.readConfirmed()
		if err != nil {
			return err
		}
		if draft != c.Text {
			return ErrPending
		}
		fresh, err := edit(draft)
		if err != nil || fresh == draft {
			return err
		}
		body := fresh
		if body != "" {
			body += "\n"
		}
		if err := atomicfile.Write(p.Path(), []byte(body), 0o600, atomicfile.Durable); err != nil {
			return p.writeError(err)
		}
		return p.putInForce(fresh)
	})
}

// putInForce writes a text as the confirmed one.
func (p *Profile) putInForce(text string) error {
	if err := p.confirmedFile().Write(confirmed{At: time.Now().UTC(), Text: text}); err != nil {
		return p.writeError(err)
	}
	return nil
}

// writeError returns err, with advice, for a profile that could not be written. The text in force has not changed.
func (p *Profile) writeError(err error) error {
	return fmt.Errorf("the pinned profile: %w; %s", err, archive.NextStep(p.o.Dir, err))
}

// whileLocked calls change while it holds the lock of the profile.
func (p *Profile) whileLocked(ctx context.Context, change func() error) error {
	entered := false
	err := filelock.While(ctx, filepath.Join(p.o.Dir, profileLock), func() error {
		entered = true
		return change()
	})
	if err != nil && !entered {
		return p.writeError(err)
	}
	return err
}

// Entry is one instruction of a profile: an item of a list, or a paragraph.
type Entry struct {
	// ID is "pin-" and the first digits of a digest of the words.
	ID   string
	Text string
	// Bytes is its share of the budget, in bytes.
	Bytes int

	block string // as it stands in the file
}

// Entries returns the instructions in a profile's text: list items and paragraphs, without headings.
func Entries(text string) []Entry {
	var all []Entry
	var block []string
	flush := func() {
		if len(block) > 0 {
			all = append(all, newEntry(strings.Join(block, "\n")))
		}
		block = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			flush()
			continue
		case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
			flush()
		}
		block = append(block, line)
	}
	flush()
	return all
}

// newEntry returns the entry for an item of a list or a paragraph, as it stands in the file.
func newEntry(block string) Entry {
	words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(block, "- "), "* "))
	text := strings.Join(words, " ")
	return Entry{ID: "pin-" + digest(text)[:12], Text: text, Bytes: len(block) + 1, block: block}
}

// FullError is the error of a profile of Have bytes to which More would be added, where Max are allowed; More is 0 when it is too
// long already. Entries are those that could be removed.
type FullError struct {
	Have, More, Max int
	Entries         []Entry
}

// Error implements error. It lists the first 20 entries with their ids and sizes.
func (e *FullError) Error() string {
	var b strings.Builder
	if e.More > 0 {
		fmt.Fprintf(&b, "the pinned profile is full: it has %d of %d bytes, and %d more do not fit", e.Have, e.Max, e.More)
	} else {
		fmt.Fprintf(&b, "the pinned profile is too long: it has %d bytes, the most is %d", e.Have, e.Max)
	}
	b.WriteString("; unpin one of these first:")
	for i, entry := range e.Entries {
		if i == 20 {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Entries)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %4d bytes  %s", entry.ID, entry.Bytes, limit.ClipRunes(entry.Text, 60))
	}
	return b.String()
}
