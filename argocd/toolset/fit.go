package toolset

import (
	"encoding/json"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// What the text of a default answer takes at most, in bytes: VS Code cuts results at 8 KiB,
// Codex at about 10 KB. Applications are what is listed most.
const (
	maxAnswer             = 10_000
	maxApplicationsAnswer = 8 << 10
)

// fitNote tells what was done to the rows. Its length is set aside before.
const fitNote = `Long rows are shortened, "cut" names what is missing: a smaller page_size shows it.`

// dispensable are the fields that a row may lose so that an answer is not too large, in
// the order in which they go. Who an object is and how it is doing stays.
func dispensable() []string {
	return []string{
		"template", "generators", "sync_windows", "roles", "namespaces", "version", "message", "description", "repos", "destinations",
		"ref", "rev", "path", "chart", "sources", "repo", "error", "operation", "matched", "dest",
	}
}

// leastWorth is how long a value must be, in bytes, that its name in "cut" is a gain.
const leastWorth = len(`"matched"`)

// bounded makes an answer whose items take what is left beside them of most bytes. with
// gives the answer with rows and with a note; rows are changed.
func bounded(rows []*json.RawMessage, most int, with func(note string) any) (*builtin.Result, error) {
	taken := make([]json.RawMessage, len(rows))
	for i, row := range rows {
		taken[i], *row = *row, json.RawMessage("0")
	}
	bare, err := json.Marshal(with(fitNote))
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		*row = taken[i]
	}
	// Beside its bytes a row takes a comma, which fit counts; the zeros stand for that.
	note := ""
	switch cut, err := fit(rows, most-len(bare)); {
	case err != nil:
		return nil, err
	case cut:
		note = fitNote
	}
	return builtin.JSON(with(note))
}

// fit takes fields out of the longest row, again and again, until all of them take at most
// so many bytes with a comma each, or nothing is left that they could lose. It changes the
// elements of rows, not their bytes. cut says that a row has lost something.
func fit(rows []*json.RawMessage, most int) (cut bool, err error) {
	left := make([]losing, len(rows))
	total := 0
	for i, row := range rows {
		left[i] = losing{row: *row, order: dispensable()}
		total += len(*row) + len(",")
	}
	for total > most {
		longest := -1
		for i := range left {
			if len(left[i].order) > 0 && (longest < 0 || len(left[i].row) > len(left[longest].row)) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		l := &left[longest]
		before := len(l.row)
		if err := l.lose(); err != nil {
			return cut, err
		}
		total += len(l.row) - before
	}
	for i := range left {
		if left[i].gone != nil {
			*rows[i], cut = left[i].row, true
		}
	}
	return cut, nil
}

// losing is a row that gets shorter.
type losing struct {
	row   []byte
	gone  []string // what it has lost
	order []string // what it could lose yet
}

// lose takes the next field out of the row that makes it shorter; afterwards order is
// empty if there was none.
func (l *losing) lose() error {
	for len(l.order) > 0 {
		key := l.order[0]
		l.order = l.order[1:]
		if rawjson.Get(l.row, key).Len() < leastWorth {
			continue
		}
		shorter, err := rawjson.Remove(l.row, key, "more_"+key)
		if err != nil {
			return err
		}
		gone := append(slices.Clone(l.gone), key)
		names, err := json.Marshal(gone)
		if err != nil {
			return err
		}
		if shorter, err = rawjson.Set(shorter, "cut", names); err != nil {
			return err
		}
		if len(shorter) < len(l.row) {
			l.row, l.gone = shorter, gone
			return nil
		}
	}
	return nil
}
