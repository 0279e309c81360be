package app

import (
	"encoding/json"
	"io"

	"github.com/plimsoll/plimsoll/journal"
)

// eventLog writes every event as one line of JSON. It keeps nothing: whoever reads the
// stream bounds it.
type eventLog struct{ w io.Writer }

// Observe writes one record; a reader that is gone is no reason to stop serving.
func (l *eventLog) Observe(r journal.Record) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	_, _ = l.w.Write(append(line, '\n'))
}
