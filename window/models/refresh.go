package models

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/window/models/sources"
	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

// refreshedFile is in [Options].Dir. Its first line is "plimsoll-models 1 DAY MODELS ORIGIN", the others are as in table.txt.
const refreshedFile = "refreshed.txt"

const refreshedHead = "plimsoll-models 1 "

// Bounds of what is read, in bytes: a public catalogue (the largest has 7 MB), and our file of one.
const (
	MaxCatalogue = 64 << 20
	maxRefreshed = 8 << 20
)

// Refreshed describes the limits that the user has put in front of the built-in catalogue; the zero value means none.
type Refreshed struct {
	Origin string    `json:"origin"` // file or address
	Form   string    `json:"form,omitempty"`
	Date   string    `json:"date,omitempty"` // of its newest entry, where it says so
	When   time.Time `json:"when"`           // the day it was read
	Models int       `json:"models"`         // number of entries that differ from the built-in catalogue
	// LeftOut is the number of invalid entries; it is known only while refreshing.
	LeftOut int `json:"left_out,omitempty"`

	file stamp
}

// stamp returns a text that changes with the file, for keys of caches; "" if there is no file.
func (r Refreshed) stamp() string {
	if r.file == (stamp{}) {
		return ""
	}
	return strconv.FormatInt(r.file.when.UnixNano(), 36) + ":"
}

// Refresh reads a public catalogue, models.dev's api.json or LiteLLM's model_prices_and_context_window.json, and stores in dir (that of
// [Options], created if it is missing) the entries that differ from the built-in ones. From then on they count before the built-in
// catalogue, and after what was set, learned, or told by a server. If data cannot be parsed, nothing changes.
func Refresh(dir, origin string, data []byte) (Refreshed, error) {
	list, err := sources.Read(data)
	if err != nil {
		return Refreshed{}, err
	}
	var old Catalogue
	lines := slices.DeleteFunc(sources.Lines(list.Providers), func(line string) bool {
		key, limits, _ := strings.Cut(line, " ")
		now := table{}.parseLimits(limits)
		was, known := old.find(key)
		// Where the input has a room of its own, some catalogues know only that.
		return known && (was.Context == now.Context && was.Input == now.Input || now.Input == 0 && was.Input == now.Context)
	})
	r := Refreshed{Origin: oneLine(origin), Form: list.Form, Date: list.Date, When: time.Now(), Models: len(lines), LeftOut: list.LeftOut}
	date := r.Date
	date = cmp.Or(date, "-")
	text := fmt.Sprintf("%s%s %s %s %d %s\n%s\n", refreshedHead, r.When.UTC().Format(time.DateOnly), r.Form, date, r.Models, r.Origin, strings.Join(lines, "\n"))
	if len(text) > maxRefreshed {
		return Refreshed{}, fmt.Errorf("what differs from the built-in catalogue takes %d bytes, and %d is the most", len(text), maxRefreshed)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Refreshed{}, err
	}
	return r, atomicfile.Write(filepath.Join(dir, refreshedFile), []byte(text), 0o600, atomicfile.Durable)
}

// oneLine returns at most 512 bytes of a text, with "?" in place of control characters and invalid UTF-8.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), 512)], "?"))
}

// Forget removes what [Refresh] has stored in dir; had reports whether there was something.
func Forget(dir string) (had bool, err error) {
	err = os.Remove(filepath.Join(dir, refreshedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Open returns the catalogue with the entries that Refresh has stored in dir, that of [Options]; "" means the built-in one alone. With an
// error it returns the built-in one.
func Open(dir string) (*Catalogue, error) {
	c := &Catalogue{}
	if dir == "" {
		return c, nil
	}
	f, err := os.Open(filepath.Join(dir, refreshedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	c.Refreshed.file = stampOf(info) // also of one that is not usable: it is looked at once
	if !info.Mode().IsRegular() {
		return c, errors.New("it is no file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRefreshed+1))
	if err != nil {
		return c, err
	}
	if len(text) > maxRefreshed {
		return c, errors.New("it is larger than any that was written")
	}
	r, lines, err := readRefreshed(text)
	if err != nil {
		return c, err
	}
	r.file = c.Refreshed.file
	c.Refreshed, c.text = r, lines
	return c, nil
}

// isCurrent reports whether the file is still the one that was read.
func (c *Catalogue) isCurrent(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, refreshedFile))
	if err != nil {
		return c.Refreshed.file == stamp{}
	}
	return c.Refreshed.file == stampOf(info)
}

// readRefreshed parses a file that Refresh wrote, and checks every line, because lookups bisect the lines without a further check.
func readRefreshed(text []byte) (r Refreshed, lines string, err error) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	said, ok := strings.CutPrefix(string(head), refreshedHead)
	fields := strings.SplitN(said, " ", 5)
	if !ok || len(fields) != 5 {
		return r, "", errors.New("its first line is not one that this version writes")
	}
	if r.When, err = time.Parse(time.DateOnly, fields[0]); err != nil {
		return r, "", errors.New("its first line has no date")
	}
	r.Form, r.Date, r.Origin = fields[1], strings.Trim(fields[2], "-"), oneLine(fields[4])
	lines = string(rest)
	last := ""
	for number := 2; len(rest) > 0; number++ {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		key, limits, _ := strings.Cut(string(line), " ")
		if len(line) == 0 && len(rest) == 0 && last == "" {
			lines = "" // nothing differs
			break
		}
		w := table{}.parseLimits(limits)
		if !ended || key <= last || key != spelling.Fold(key) || !strings.Contains(key, "/") || w.Context < MinContext || w.Context > MaxContext ||
			limits != fmt.Sprintf("%d %d %d", w.Context, w.Input, w.Output) || w.Input > w.Context || w.Input < 0 || w.Output < 0 {
			return Refreshed{}, "", fmt.Errorf("line %d is not one that this version writes", number)
		}
		last = key
		r.Models++
	}
	return r, lines, nil
}
