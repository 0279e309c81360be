package hosts

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxRunsValue bounds what a host tells of its runs, in bytes; [fleet.Hosts] takes 512 KiB.
	maxRunsValue = 500 << 10
	// maxRuns bounds the runs that are read of one host.
	maxRuns = 4096
	// maxName bounds names, and maxReason the reason of a run, in bytes.
	maxName, maxReason = 64, 160
	// maxID bounds the ID of a host and of a run.
	maxID = 32
)

// Key names a host: by a name for people, and an ID that two hosts of one name do not share.
type Key struct{ ID, Name string }

// ValidID reports whether an ID can be one of a host.
func ValidID(id string) bool {
	return len(id) >= 8 && len(id) <= maxID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// host and runs return the keys of the two values in [fleet.Hosts].
func (k Key) host() string { return fleet.Key("host", k.ID, limit.Short(k.Name, maxName)) }
func (k Key) runs() string { return fleet.Key("runs", k.ID, limit.Short(k.Name, maxName)) }

// Host is one host, as it told last. Sizes are in bytes.
type Host struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Time is the host's own at which it said this; of a host from a [View], ours at which we heard it.
	Time time.Time `json:"time"`
	// Left is true in the last word of a host on which nothing of Plimsoll runs any more.
	Left bool `json:"left,omitempty"`
	Load
	// LeftOut counts the live runs that are not in Runs, for which there was no room.
	LeftOut int `json:"left_out,omitempty"`
	// Runs are the live ones, the largest first; they are in a value of their own.
	Runs []Run `json:"-"`
	// Label is the name, and with it the ID where two hosts have one name.
	Label string `json:"-"`

	told time.Time // its own, of Runs
}

// Load tells what a host has and carries, or all hosts together. Sizes are in bytes.
type Load struct {
	Running        int   `json:"running"`
	Waiting        int   `json:"waiting"`
	TotalBytes     int64 `json:"total_bytes"`
	AvailableBytes int64 `json:"available_bytes"`
	// Oldest is the time at which the run began to wait that waits longest; the zero time without one.
	Oldest time.Time `json:"oldest_wait,omitzero"`
	// Used is that by the runs that began today.
	Used
}

// add adds the figures of x; Oldest becomes the older of both.
func (l *Load) add(x *Load) {
	l.Running, l.Waiting = l.Running+x.Running, l.Waiting+x.Waiting
	l.TotalBytes, l.AvailableBytes = l.TotalBytes+x.TotalBytes, l.AvailableBytes+x.AvailableBytes
	if !x.Oldest.IsZero() && (l.Oldest.IsZero() || x.Oldest.Before(l.Oldest)) {
		l.Oldest = x.Oldest
	}
	l.Used = Used{l.Tokens + x.Tokens, l.Cost + x.Cost, l.Plan + x.Plan}
}

// Used counts tokens read and written, US dollars paid, and what the tokens of a subscription would have cost.
type Used struct {
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost_usd,omitempty"`
	Plan   float64 `json:"plan_usd,omitempty"`
}

// add adds the use of one model. What went through an outer run is left out, as that run counts it.
func (u *Used) add(x *runs.Usage) {
	switch {
	case x.Through: // the outer run has it
		return
	case x.Plan:
		u.Plan += x.Cost
	default:
		u.Cost += x.Cost
	}
	u.Tokens += x.Input + x.Output
}

// dropNegative makes negative figures 0.
func (u *Used) dropNegative() {
	u.Tokens, u.Cost, u.Plan = max(0, u.Tokens), max(0, u.Cost), max(0, u.Plan)
}

// Run is a live run on a host. Sizes are in bytes.
type Run struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Parent  string    `json:"parent,omitempty"`
	Tool    string    `json:"tool"`
	Variant string    `json:"variant,omitempty"`
	Project string    `json:"project"`
	PID     int       `json:"pid,omitempty"`
	State   string    `json:"state"`
	Since   time.Time `json:"since,omitzero"` // of the state
	Reason  string    `json:"reason,omitempty"`
	Started time.Time `json:"started"`

	Memory      int64 `json:"memory"`
	Peak        int64 `json:"peak"`
	Limit       int64 `json:"limit,omitempty"`
	Reservation int64 `json:"reservation,omitempty"`
	CPUMS       int64 `json:"cpu_ms"`
	Processes   int   `json:"processes,omitempty"`
	// CPU is its use in percent of one processor since its host told of it before, -1 where that is not known.
	CPU float64 `json:"-"`

	WindowTokens int64 `json:"window_tokens,omitempty"`
	WindowLimit  int64 `json:"window_limit,omitempty"`
	Compactions  int64 `json:"compactions,omitempty"`
	Kills        int   `json:"kills,omitempty"`
	Used
}

// told is the value with the runs of a host.
type told struct {
	Time time.Time `json:"time"`
	Runs []Run     `json:"runs"`
}

// encodeRuns returns the published form of the runs with the most memory, as many as fit, and how many are left out. It sorts list.
func encodeRuns(list []Run, now time.Time) (value []byte, leftOut int) {
	sorting.By(list, func(a, b Run) int { return cmp.Or(cmp.Compare(b.Memory, a.Memory), strings.Compare(a.ID, b.ID)) })
	all := len(list)
	list = list[:min(all, maxRuns)]
	for {
		value, err := json.Marshal(told{now, list})
		if err == nil && len(value) <= maxRunsValue {
			return value, all - len(list)
		}
		list = list[:len(list)*3/4]
	}
}

var errNotOurs = errors.New("this is nothing that a host wrote")

// decodeHost parses what a host has published about itself, cleans and bounds it, and shifts its times to our clock, which shows now.
func decodeHost(value []byte, now time.Time) (*Host, error) {
	h := &Host{}
	if err := json.Unmarshal(value, h); err != nil || !ValidID(h.ID) || h.Time.IsZero() {
		return nil, errNotOurs
	}
	h.Name = cleanText(h.Name, maxName)
	h.TotalBytes, h.AvailableBytes = max(0, h.TotalBytes), max(0, h.AvailableBytes)
	h.Running, h.Waiting, h.LeftOut = max(0, h.Running), max(0, h.Waiting), max(0, h.LeftOut)
	h.Used.dropNegative()
	h.Oldest = shiftTime(h.Oldest, h.Time, now)
	h.Time = now
	return h, nil
}

// decodeRuns parses the runs that a host has published, cleans and bounds them, and shifts their times to our clock. at is when the host
// wrote them, by its own clock.
func decodeRuns(value []byte, now time.Time) (list []Run, at time.Time, err error) {
	var t told
	if err := json.Unmarshal(value, &t); err != nil || t.Time.IsZero() {
		return nil, at, errNotOurs
	}
	list = t.Runs[:min(len(t.Runs), maxRuns)]
	for i := range list {
		list[i].sanitize()
		list[i].Started, list[i].Since = shiftTime(list[i].Started, t.Time, now), shiftTime(list[i].Since, t.Time, now)
	}
	return list, t.Time, nil
}

// sanitize cuts and cleans the texts of a run that another process wrote, and makes negative numbers 0.
func (r *Run) sanitize() {
	r.ID, r.Parent, r.Kind, r.State = cleanText(r.ID, maxID), cleanText(r.Parent, maxID), cleanText(r.Kind, maxID), cleanText(r.State, maxID)
	r.Tool, r.Variant, r.Project, r.Reason = cleanText(r.Tool, maxName), cleanText(r.Variant, maxName), cleanText(r.Project, maxName), cleanText(r.Reason, maxReason)
	for _, n := range []*int64{&r.Memory, &r.Peak, &r.Limit, &r.Reservation, &r.CPUMS, &r.WindowTokens, &r.WindowLimit, &r.Compactions} {
		*n = max(0, *n)
	}
	r.PID, r.Processes, r.Kills = max(0, r.PID), max(0, r.Processes), max(0, r.Kills)
	r.Used.dropNegative()
}

// cleanText returns a text of another host in at most maxBytes bytes, without what moves a terminal or turns the direction of a page.
func cleanText(s string, maxBytes int) string {
	if len(s) > maxBytes {
		s = limit.Short(s, maxBytes)
	}
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:") == "" {
		return s
	}
	return limit.Short(printable.Name(strings.ToValidUTF8(s, "?")), maxBytes)
}

// maxAge bounds how long ago a time may be that another host tells.
const maxAge = 10 * 365 * 24 * time.Hour

// shiftTime returns the time t of a clock that showed theirs when ours showed now, as our clock would have shown it: at most now, at least maxAge
// before. A zero time stays.
func shiftTime(t, theirs, now time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(-max(0, min(maxAge, theirs.Sub(t))))
}
