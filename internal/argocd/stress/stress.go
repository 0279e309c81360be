// Package stress plays against an MCP server of Argo CD what overwhelms such servers, and says what came of it; `go run ./bench stress` runs it.
//
//	report, err := stress.Run(ctx, stress.Target{Call: call, Memory: memory}, stress.Options{})
//
// The same page again and again, 5 and 50 calls at a time, 1000 queries with flat memory, searches with more matches than a page and than a search
// may have, and all pages of each kind, which must fit together. An answer is good when it is whole: JSON, the page that was asked for, as many
// items as its pagination says, no more bytes than [Options].MaxResponse. What an installation is too small for is [Row].Skipped with the reason.
//
// All calls only read. Nothing is kept of an answer but its size and names. A case ends early after ten errors in a row; whoever cancels the context
// gets the rows that are finished. Up to 50 calls are made at one time, so Call and Memory must allow that.
package stress

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Target is the server under stress.
type Target struct {
	// Call makes one call of a tool. An error is one of the connection; what the tool
	// itself refuses is an Answer with IsError.
	Call func(ctx context.Context, tool string, args map[string]any) (Answer, error)
	// Memory returns the anonymous memory (RssAnon) of the server's process in bytes. Nil:
	// memory is not looked at.
	Memory func() (rssAnon int64, err error)
}

// Answer is the answer of a tool.
type Answer struct {
	Text    string
	Bytes   int // as it was delivered; 0: those of Text
	IsError bool
}

// The defaults of Options.
const (
	DefaultQueries    = 1000
	DefaultMaxPages   = 60
	DefaultMaxMatches = 1000
	// DefaultMaxResponse is of bytes on the wire: 10,000 of text, below what the strictest clients cut at, whose quotes and line
	// ends JSON escapes (an eighth of rows of Argo CD), and the envelope of the message.
	DefaultMaxResponse = limit.Bytes(12_500)
)

// Options set the amount of work and the bounds of a good answer. The zero value works.
type Options struct {
	// Queries is the number of calls in the case about flat memory; the others make a
	// twentieth of it, at least 10.
	Queries int
	// MaxPages bounds the pages of one listing that are read; of a longer one its beginning and
	// its end.
	MaxPages int
	// MaxResponse bounds an answer, in bytes on the wire.
	MaxResponse limit.Bytes
	// MaxMemory bounds the memory of the server; 0 shows it and does not judge it.
	MaxMemory limit.Bytes
	// MaxMatches is the number of matches that the server shows; a search with more is to be refused.
	MaxMatches int
	// Instance is sent as the argument of that name, where the server has several.
	Instance string
	// Progress gets each row when its case is over. It may be nil.
	Progress func(Row)
}

// Report holds the results of all cases.
type Report struct{ Rows []Row }

// OK reports whether every case was good.
func (r Report) OK() bool {
	for _, row := range r.Rows {
		if !row.OK {
			return false
		}
	}
	return len(r.Rows) > 0
}

// Row is the result of one case.
type Row struct {
	Case             string
	Requests, Errors int
	P50, P95         time.Duration // of one call
	PeakBytes        int64         // highest RssAnon of the server while it ran; 0: not known
	MaxResponse      int           // bytes of the largest answer
	Note             string        // what was found, or went wrong
	OK               bool
	Skipped          bool // it could not be played here; Note says why
}

// Run plays all cases, one after the other. The error is that of ctx, with the rows so far.
func Run(ctx context.Context, t Target, o Options) (Report, error) {
	var report Report
	if t.Call == nil {
		return report, errors.New("stress: no Call: there is nothing to stress")
	}
	o.Queries = cmp.Or(max(o.Queries, 0), DefaultQueries)
	o.MaxPages = cmp.Or(max(o.MaxPages, 0), DefaultMaxPages)
	o.MaxMatches = cmp.Or(max(o.MaxMatches, 0), DefaultMaxMatches)
	o.MaxResponse = cmp.Or(max(o.MaxResponse, 0), DefaultMaxResponse)
	for _, s := range cases(o) {
		c := &caseRun{target: t, o: o}
		stop := c.sampleMemory()
		s.play(ctx, c)
		stop()
		if err := ctx.Err(); err != nil {
			return report, err
		}
		row := c.summary(s.name)
		report.Rows = append(report.Rows, row)
		if o.Progress != nil {
			o.Progress(row)
		}
	}
	return report, nil
}
