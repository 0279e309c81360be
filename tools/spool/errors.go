package spool

import (
	"fmt"

	"github.com/plimsoll/plimsoll/limit"
)

// NotFound reports that nobody with this principal can read a result by this handle. It does not say why: whether there never was one, it
// is somebody else's, it expired or it was evicted.
type NotFound struct{}

func (*NotFound) Error() string {
	return "there is no result with this handle: it may have expired or made room for newer ones; call the tool again to get a new result and its handle"
}

// Full reports that there is no room for a result, or for more of it.
type Full struct {
	// Dir is the spool's folder. Why is the bound that was reached: "disk" (also Options.FreeMin), "quota" (Options.MaxBytes,
	// and nothing can be evicted), "result" (Options.MaxResult) or "count" (Options.MaxResults).
	Dir, Why string
	// Limit is the bound in bytes or results; 0 for a full disk.
	Limit int64
	// Err is the system's error for a full disk, or says how many bytes are free and how many must stay free; else nil.
	Err error
}

func (e *Full) Error() string {
	switch e.Why {
	case "disk":
		return fmt.Sprintf("the disk of the spool %s is full (%v): make room there, or ask for less", e.Dir, e.Err)
	case "result":
		return fmt.Sprintf("the result is larger than a single one may be in the spool %s (%s): ask for less, or raise the limit of one result",
			e.Dir, limit.Bytes(e.Limit).Human())
	case "count":
		return fmt.Sprintf("the spool %s has %d results and all of them are being read or written: try again later", e.Dir, e.Limit)
	}
	return fmt.Sprintf("the spool %s is full (%s) and all of it is being read or written: try again later, ask for less, or raise its limit",
		e.Dir, limit.Bytes(e.Limit).Human())
}

func (e *Full) Unwrap() error { return e.Err }

// NoPage reports that a page number is out of range.
type NoPage struct {
	Page, Pages int64
	Size        int
	Noun        string // "items", "lines"
	Items       int64
}

func (e *NoPage) Error() string {
	if e.Pages == 0 {
		return fmt.Sprintf("there is no page %d: the result has no %s", e.Page, e.Noun)
	}
	return fmt.Sprintf("there is no page %d: the result has %d %s, which are pages 1 to %d with at most %d %s each",
		e.Page, e.Items, e.Noun, e.Pages, e.Size, e.Noun)
}

// NoRange reports that an offset lies beyond what is stored.
type NoRange struct{ Offset, Total int64 }

func (e *NoRange) Error() string {
	return fmt.Sprintf("there is nothing at offset %d: the result has %d bytes, offsets 0 to %d", e.Offset, e.Total, max(0, e.Total-1))
}
