package dashboard

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// maxRows bounds the ended runs shown at once; `plimsoll runs` lists all.
	maxRows = 200
	// maxAlerts bounds the alerts that are shown.
	maxAlerts = 50
)

// row is one run in the list.
type row struct {
	runs.View
	Requests int64     `json:"requests"`
	Model    string    `json:"model,omitempty"`
	Spent    []used    `json:"spent,omitempty"`    // while it lives
	KilledAt time.Time `json:"killed_at,omitzero"` // that of [runs.Observed]
}

// snapshotOf polls the store and returns a snapshot of it.
func snapshotOf(store *runs.Store, host func() (Host, bool), more func(time.Time) []Alert, before *past, money *spending) (*snapshot, error) {
	if err := store.Poll(); err != nil {
		return nil, err
	}
	s := &snapshot{}
	live := store.Live()
	known := make(map[string]bool, len(live))
	add := func(r row) {
		if text, err := json.Marshal(r); err == nil {
			s.rows = append(s.rows, rowText{r.ID, text})
		}
	}
	var h *Host
	waiting, reserved, total := 0, int64(0), int64(0)
	for i := len(live) - 1; i >= 0; i-- { // the newest first
		r := money.row(&live[i].Entry)
		r.SetNow(live[i], time.Now())
		r.Model, r.Spent = live[i].Model, usedOf(live[i].Report.Limits)
		known[r.ID] = true
		if r.State == runs.Waiting {
			waiting++
		} else if r.Parent == "" {
			reserved += r.ReservationBytes
		}
		add(r)
	}
	entries := store.Entries()
	ended := 0
	for i := range entries {
		e := &entries[i]
		if known[e.ID] || e.Live() || e.Kind == runs.KindGateway && e.Parent != "" {
			continue
		}
		if ended++; ended > maxRows {
			break
		}
		add(money.row(e))
	}
	if host != nil {
		if now, ok := host(); ok {
			now.Waiting, now.ReservedBytes = waiting, reserved
			h, total = &now, now.TotalBytes
			before.note(now, time.Now())
		}
	}
	now := time.Now()
	spent := money.today(entries, now)
	alerts := alertsOf(entries, live, now, total, func(e *runs.Entry, what string) string { return before.command(store, e, what) })
	first := budgetAlerts(spent, now)
	if more != nil {
		first = append(more(now), first...)
	}
	s.rest = rest(h, append(first, alerts...), spent, "")
	return s, nil
}

// rest returns the members of the snapshot beside the rows, as JSON without the braces.
func rest(h *Host, alerts []Alert, spent *Spending, problem string) []byte {
	if alerts == nil {
		alerts = []Alert{}
	}
	text, err := json.Marshal(struct {
		Host   *Host     `json:"host"`
		Alerts []Alert   `json:"alerts"`
		Spent  *Spending `json:"spent"`
		Error  string    `json:"error"`
	}{h, alerts, spent, problem})
	if err != nil {
		return []byte(`"host":null,"alerts":[],"spent":null,"error":"this cannot be shown"`)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}"))
}
