package usage

import (
	"fmt"
	"log/slog"
)

// WarningKind says what a [Warning] is about.
type WarningKind string

// The kinds of warning.
const (
	// CorruptSetAside: a damaged file was renamed; its history begins anew.
	CorruptSetAside WarningKind = "corrupt_set_aside"
	// CorruptFound: a reader met a damaged file and left it for the next run to set aside.
	CorruptFound WarningKind = "corrupt_found"
	// ToolEvicted: a project used more than [MaxTools] tools and forgot one.
	ToolEvicted WarningKind = "tool_evicted"
	// NewerSchema: a listing left out a file of a newer Plimsoll.
	NewerSchema WarningKind = "newer_schema"
	// Unreadable: a listing left out a file that could not be read.
	Unreadable WarningKind = "unreadable"
	// ListingCut: there are more project files than a listing considers.
	ListingCut WarningKind = "listing_cut"
)

// Warning is something that the user should know and that stops nothing.
type Warning struct {
	Kind WarningKind
	// Path is the file it is about, by its present name.
	Path string
	// Count is the number of things dropped or left out, where the kind has a number.
	Count int
	// Text is the whole warning in one sentence.
	Text string
}

// warn hands a warning to Options.Warn, or logs it.
func (h *History) warn(w Warning) {
	if h.options.Warn != nil {
		h.options.Warn(w)
		return
	}
	slog.Warn(w.Text, slog.String("kind", string(w.Kind)), slog.String("path", w.Path))
}

// OffReason says why there is no history.
type OffReason string

// The reasons.
const (
	OffReadOnly OffReason = "read-only"
	OffFull     OffReason = "full"
	OffLocked   OffReason = "locked"
	OffNewer    OffReason = "newer schema"
	OffFailed   OffReason = "failed"
)

// OffError means that the history could not be read or written; the caller can go on without it.
type OffError struct {
	Reason OffReason
	// Path is the file or directory in question.
	Path string
	Err  error
}

// Error names the file, the reason and what to do.
func (e *OffError) Error() string {
	next := ""
	switch e.Reason {
	case OffReadOnly:
		next = "; make it writable or set PLIMSOLL_STATE_DIR to a directory that is"
	case OffFull:
		next = "; free some space or set PLIMSOLL_STATE_DIR to another disk"
	case OffLocked:
		next = "; another Plimsoll holds its lock, see who with `plimsoll top`"
	case OffNewer:
		next = "; upgrade Plimsoll, or move the file away"
	case OffFailed:
	}
	return fmt.Sprintf("history is off: %s: %v%s", e.Path, e.Err, next)
}

func (e *OffError) Unwrap() error { return e.Err }
