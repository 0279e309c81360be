package spool

import (
	"cmp"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [Options] and [Source].
const (
	DefaultMaxBytes   = 8 * limit.GiB
	DefaultMaxResults = 1000
	DefaultMaxAge     = 24 * time.Hour
	DefaultMaxResult  = 4 * limit.GiB

	// DefaultPageBytes is about the size of result that even the clients with the smallest bounds take
	// whole: VS Code 8 KiB, Codex about 10 KB.
	DefaultPageBytes = 10 * 1000
	DefaultPageItems = 20
	MaxPageItems     = 100
	// Lines are shorter than items.
	DefaultPageLines = 100
	MaxPageLines     = 1000

	// MaxMatches bounds all matches of a search; more are the error [TooMany].
	MaxMatches = 1000
	// MaxCall bounds the kept parameters of a call, in bytes; longer ones are not kept.
	MaxCall = 64 << 10
	// MaxRange bounds the bytes that one call of Range returns.
	MaxRange = 1 << 20
)

// Options configure a [Spool]; nil and zero mean the defaults.
type Options struct {
	// Dir is the folder for the results; Open creates it (0700). Several processes may share it.
	Dir string
	// MaxBytes bounds everything in Dir on the disk (DefaultMaxBytes).
	MaxBytes limit.Bytes
	// FreeMin is the free space that the spool leaves on the file system of Dir: before less is free, results are evicted and then no
	// longer kept. 0 means 5 % of the file system, between 256 MiB and 2 GiB; below 0 there is no bound. If less than twice as much was
	// free when the spool was opened, half of what was free then counts.
	FreeMin limit.Bytes
	// MaxResults bounds the number of results (DefaultMaxResults).
	MaxResults int
	// MaxAge bounds the time in which a result can be read, from its Create on (DefaultMaxAge).
	MaxAge time.Duration
	// MaxResult bounds one result with its index, in bytes (DefaultMaxResult; at most MaxBytes).
	MaxResult limit.Bytes
	// Journal takes SpoolEvicted events; nil drops them.
	Journal *journal.Journal
}

// setDefaults sets the options that are not set. One result may not be larger than all.
func (o *Options) setDefaults() {
	o.MaxBytes = cmp.Or(max(o.MaxBytes, 0), DefaultMaxBytes)
	o.MaxResults = cmp.Or(max(o.MaxResults, 0), DefaultMaxResults)
	o.MaxAge = cmp.Or(max(o.MaxAge, 0), DefaultMaxAge)
	o.MaxResult = cmp.Or(max(o.MaxResult, 0), DefaultMaxResult)
	o.MaxResult = min(o.MaxResult, o.MaxBytes)
	if o.Journal == nil {
		o.Journal = journal.New(journal.Options{MaxRecords: 1})
	}
}

// Source describes the origin of a result and the size of its pages.
type Source struct {
	// Principal identifies the owner: the result can only be read with the same principal. Only its digest is stored.
	Principal string
	Server    string
	Tool      string
	// Call holds the parameters of the call as they were sent, so that it can be repeated. If they exceed MaxCall bytes nothing is stored.
	Call []byte
	// ReadOnly is set when the tool declares that it changes nothing.
	ReadOnly bool
	// PageBytes bounds a page, in bytes (DefaultPageBytes; at least 1 KiB).
	PageBytes int
	// PageItems is the number of items on a page unless a reader asks for another one (DefaultPageItems; at most MaxPageItems). For lines
	// it is DefaultPageLines.
	PageItems int
	// ServerPage holds the arguments that asked for one of the server's own pages, such as "page=2, per_page=100"; "" if there were none.
	// It is cut at MaxServerPage bytes.
	ServerPage string
}

// MaxServerPage bounds Source.ServerPage, in bytes.
const MaxServerPage = 120

// setDefaults sets missing values and moves the others into their bounds. A call that is longer than MaxCall is dropped.
func (s *Source) setDefaults() {
	s.ServerPage = limit.Clip(s.ServerPage, MaxServerPage)
	if s.PageBytes <= 0 {
		s.PageBytes = DefaultPageBytes
	}
	s.PageBytes = max(s.PageBytes, minPageSize)
	if s.PageItems <= 0 {
		s.PageItems = DefaultPageItems
	}
	s.PageItems = min(s.PageItems, MaxPageItems)
	if len(s.Call) > MaxCall {
		s.Call = nil
	}
}

// Part is a kind of content within a result.
type Part string

// The kinds of content.
const (
	Text       Part = "text"
	Structured Part = "structured"
	Media      Part = "media"
)

// Shape is the kind of a document's items.
type Shape string

// The shapes. See the package comment for how one is found.
const (
	Array  Shape = "array"
	Object Shape = "object"
	Blocks Shape = "blocks"
	Lines  Shape = "lines"
)

// pageSizes returns the default number of items on a page of this shape, which is items for all but lines, and the largest number.
func (s Shape) pageSizes(items int) (def, most int) {
	if s == Lines {
		return DefaultPageLines, MaxPageLines
	}
	return items, MaxPageItems
}

// Noun returns the plural noun for items of the shape.
func (s Shape) Noun() string {
	switch s {
	case Object:
		return "members"
	case Blocks:
		return "blocks"
	case Lines:
		return "lines"
	}
	return "items"
}

// Final says how a result ended.
type Final struct {
	// Error is set when the tool reported failure.
	Error bool
}

// Totals describe a result as a whole, or the part of it that has come while it is written.
type Totals struct {
	Shape Shape
	// Bytes is the size of the document, Stored that of the whole stored text, both as on the disk: valid UTF-8.
	Bytes, Stored int64
	// Offset is the place of the document's beginning in the stored text, to which all offsets refer.
	Offset int64
	// Items counts the items, Pages the pages of PageItems items and PageBytes bytes.
	Items, Pages         int64
	PageItems, PageBytes int
	// Complete is set when the result has ended, so that the figures are final.
	Complete bool
	// Cut is the reason why the result broke off; "" if it did not.
	Cut string
	// Failed is Final.Error.
	Failed bool
	// SHA256 is the checksum of the document in hex; "" until Complete.
	SHA256 string
	// Path holds the keys that lead to the main array or object; Envelope says that pages repeat the object around it.
	Path     []string
	Envelope bool
	// Part is the number of the Begin call (from 0) that began the document, -1 for blocks. Parts counts all of them.
	Part, Parts int
	// Created is the time of Create, Expires the time from which on nobody can read the result.
	Created, Expires time.Time
	// ServerPage is Source.ServerPage.
	ServerPage string
}

// More returns how many bytes are stored outside the document: other content of the result.
func (t Totals) More() int64 { return t.Stored - t.Bytes }

// Page is a part of a document: whole items, in order.
type Page struct {
	// Text is valid UTF-8, and one JSON value when JSON is set.
	Text []byte
	JSON bool
	// Number counts from 1; Size is the largest number of items on a page.
	Number, Size int
	// TotalPages and TotalItems are final when Complete, else those so far; TotalPages is 0 if it is not known for this Size yet.
	TotalPages, TotalItems int64
	// From and To number the first and last item on the page, from 1.
	From, To int64
	Complete bool
	// Cut is the reason why the result broke off; "" if it did not.
	Cut string
	// Omitted counts the items larger than a page, in whose place the page has a stub.
	Omitted int
}

// HasNext reports whether there is a page after this one, or may be because the result has not ended.
func (p Page) HasNext() bool { return !p.Complete || int64(p.Number) < p.TotalPages }

// Piece is a range of the stored text, in whole characters.
type Piece struct {
	Text []byte
	// From and To are offsets in bytes; Total is the number of bytes stored (so far, unless Complete).
	From, To, Total int64
	Complete        bool
}
