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

// droppableFields are the fields that may be removed from a row to make an answer smaller, in the order of removal. Name,
// project, health and status stay.
func droppableFields() []string {
	return []string{
		"template", "generators", "sync_windows", "roles", "namespaces", "version", "message", "description", "repos", "destinations",
		"ref", "rev", "path", "chart", "sources", "repo", "error", "operation", "matched", "dest",
	}
}

// minSavedBytes is the length of a value, in bytes, from which on removing it saves more than its name in "cut" costs.
const minSavedBytes = len(`"matched"`)

// bounded makes an answer whose items take what is left beside them of maxBytes bytes. with
// gives the answer with rows and with a note; rows are changed.
func bounded(rows []*json.RawMessage, maxBytes int, with func(note string) any) (*builtin.Result, error) {
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
	switch cut, err := fit(rows, maxBytes-len(bare)); {
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
func fit(rows []*json.RawMessage, maxBytes int) (cut bool, err error) {
	left := make([]shorteningRow, len(rows))
	total := 0
	for i, row := range rows {
		left[i] = shorteningRow{row: *row, order: droppableFields()}
		total += len(*row) + len(",")
	}
	for total > maxBytes {
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
		if err := l.dropNextField(); err != nil {
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

// shorteningRow is a row from which fields are being removed.
type shorteningRow struct {
	row   []byte
	gone  []string // what it has lost
	order []string // what it could lose yet
}

// dropNextField removes the next field whose removal makes the row shorter. If there is none, order is empty afterwards.
func (l *shorteningRow) dropNextField() error {
	for len(l.order) > 0 {
		key := l.order[0]
		l.order = l.order[1:]
		if rawjson.Get(l.row, key).Len() < minSavedBytes {
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
