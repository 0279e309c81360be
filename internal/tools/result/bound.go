// Package result bounds what a tool's answer may be: it reads the response to a tools/call or resources/read while it arrives, and hands on either
// the very bytes the server wrote or, when they are more than a client should get, a page of them and a notice that names the calls for the rest.
// The gateway uses it for every call.
//
//	outcome := result.Bound(ctx, frame, result.Options{Method: "tools/call", ID: head.ID, MaxText: 10_000, Spool: store, Deliver: to.Receive})
//
// Text, as a model reads it, counts unescaped over all blocks, structuredContent and errors: at most MaxText of it is delivered. Media counts by
// itself, up to MaxMedia. A larger response goes to the spool while it arrives, and what is delivered is composed: always valid JSON, never a
// success told as a failure, and private to one principal once it has a handle. A response that breaks off becomes an error that gives the bytes
// that came.
//
// Memory is constant for any size: a chunk of [ChunkBytes], at most [HoldBytes] of raw bytes twice and small members up to [MaxKept]; more is in a
// file without a name. Bound calls Deliver at most once; with Options.Early it and Progress may be called on another goroutine, which has ended when
// Bound returns.
package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// BrokenOff reports that a message ended before it was complete.
type BrokenOff struct {
	Bytes int64 // how many bytes came before
	Err   error // the error of the transport or the lexer
}

func (e *BrokenOff) Error() string {
	return fmt.Sprintf("the message broke off after %s: %v", limit.Bytes(e.Bytes).Human(), e.Err)
}

// SyntaxError is the error for a malformed message; it has the place.
type SyntaxError = jsonstream.SyntaxError

// brokenOff returns err as a BrokenOff, with the place where the lexer failed if err has it.
func brokenOff(err error) error {
	e := &BrokenOff{Err: err}
	if at, ok := errors.AsType[*SyntaxError](err); ok {
		e.Bytes = at.Offset
	}
	return e
}

func (e *BrokenOff) Unwrap() error { return e.Err }

// TooLarge reports that a message is larger than Options.MaxFrame, or a task without its result larger than MaxTask. Max is the bound in
// bytes.
type TooLarge struct{ Max int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the message is larger than %s, which is the most that is taken: ask for less", limit.Bytes(e.Max).Human())
}

// reading is one response that is being read.
type reading struct {
	o       Options
	ctx     context.Context
	event   transport.Event
	started time.Time

	lexer    *lexer
	prescan  prescan
	raw      spooledBuffer
	passing  bool  // the message is not one that is bounded: it is delivered unchanged
	lexerErr error // why the lexer could not read on; then it reads nothing more

	// mu guards the fields below, which early delivery uses in another goroutine.
	mu          sync.Mutex
	spoolWriter *spoolWriter
	delivered   bool
	progressAt  time.Time
	early       *early
	ended       bool // the frame was read
	out         Outcome
}

var (
	chunks = sync.Pool{New: func() any { return new([ChunkBytes]byte) }}
	lexers = sync.Pool{New: func() any { return new(lexer) }}
)

// Bound reads the response f to its end and delivers it, or the part of it that a client should get, by o.Deliver. It blocks until the
// server has sent and the client has taken everything; when ctx ends it returns as soon as the frame's reader does, without delivering.
//
// Of two equal keys the last wins for what is short (id, isError, mimeType), as decoders have it; text, media and structuredContent that come
// twice are both counted and both kept, for what went by cannot be taken back. Brackets and strings are checked while they pass, up to
// [MaxDepth] deep; bytes after the message, and values that are no JSON, are for the client to judge in what passes unchanged.
func Bound(ctx context.Context, f *transport.Frame, o Options) Outcome {
	r := &reading{o: o, ctx: ctx, event: f.Event, lexer: lexers.Get().(*lexer)}
	r.out.ID = o.ID
	r.raw.dir = o.TempDir
	r.prescan.maxItems = o.MaxItems
	r.lexer.reset(&r.prescan, o.Method)
	r.passing = o.Method != CallTool && o.Method != ReadResource && !o.task()
	if o.task() { // the members behind the result are needed
		r.o.Early = 0
	}
	if o.Early > 0 {
		r.started = time.Now()
	}
	defer r.close()
	err := r.read(f)
	r.early.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.finish(err)
	return r.out
}

// close removes the temporary files and gives the lexer back.
func (r *reading) close() {
	r.raw.close()
	if r.spoolWriter != nil {
		r.spoolWriter.kept.close()
	}
	r.lexer.to = nil
	lexers.Put(r.lexer)
}

// read reads the frame to its end, in chunks, and passes them to takeBytes, whose error ends it. An upstream that breaks off is a
// [BrokenOff]; the end of ctx gives its cause.
func (r *reading) read(f *transport.Frame) error {
	// The head is held where it is; what is written after it goes to memory of its own.
	r.raw.mem, r.raw.size = f.Head[:len(f.Head):len(f.Head)], int64(len(f.Head))
	if err := r.takeBytes(f.Head, true); err != nil || f.Rest == nil {
		return err
	}
	chunk := chunks.Get().(*[ChunkBytes]byte)
	defer chunks.Put(chunk)
	for {
		n, err := f.Rest.Read(chunk[:])
		if n > 0 {
			if err := r.takeBytes(chunk[:n], false); err != nil {
				return err
			}
		}
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &BrokenOff{r.out.Upstream, err}
		}
	}
}

// takeBytes processes the next bytes of the frame: it counts and parses them, and begins to spool the result once its text, media or members
// exceed their bounds. held means that r.raw already has the bytes. An error, such as a frame or task that is too large, ends the reading.
func (r *reading) takeBytes(p []byte, held bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Upstream += int64(len(p))
	if r.out.Upstream > r.o.maxFrame() {
		return &TooLarge{r.o.maxFrame()}
	}
	if r.spoolWriter != nil {
		return r.takeSpooled(p)
	}
	if !held {
		if err := r.raw.write(p); err != nil {
			return err
		}
	}
	switch {
	case r.passing:
		return nil
	case r.lexerErr == nil:
		if r.lexerErr = r.lexer.Feed(p); r.prescan.method && r.o.Method != TaskStatus {
			r.passing, r.lexerErr = true, nil
			return nil
		}
	}
	if r.prescan.passed > MaxTask {
		return &TooLarge{MaxTask}
	}
	if r.prescan.text > r.o.maxText() || r.prescan.answers && (r.prescan.media > r.o.maxMedia() || r.prescan.meta > MaxMeta) || r.prescan.overhead(r.raw.size) {
		return r.startSpooling()
	}
	if r.lexerErr != nil && r.raw.size > r.o.textBudget() {
		// A short malformed message is for the client to judge; of a long one it is not known how much a
		// model would read.
		return brokenOff(r.lexerErr)
	}
	return nil
}

// takeSpooled parses the next bytes of a result that goes to the spool, and reports progress now and then.
func (r *reading) takeSpooled(p []byte) error {
	if err := r.lexer.Feed(p); err != nil {
		return brokenOff(err)
	}
	s := r.spoolWriter
	if s.stop != nil {
		return s.stop
	}
	if r.o.Progress != nil && s.failed == nil && !r.delivered {
		if now := time.Now(); now.Sub(r.progressAt) >= progressEvery {
			r.progressAt = now
			bytes, items := s.writer.Progress()
			r.o.Progress(bytes, items, s.writer.Handle())
		}
	}
	return nil
}

// progressEvery is the shortest time between two reports of progress; people do not look more often.
const progressEvery = 500 * time.Millisecond

// startSpooling decides that the message will be composed: all bytes so far are read into the spool, and later ones go there too.
func (r *reading) startSpooling() error {
	s := &spoolWriter{o: &r.o}
	r.spoolWriter = s
	s.maxItems = r.o.MaxItems
	s.kept.dir = r.o.TempDir
	s.remaining = min(r.o.maxText(), maxPage)
	if r.prescan.text > r.o.maxText() {
		s.remaining, s.maxItems = s.reserve(), 0 // there will be a page whatever the items
	}
	s.errorText.max = int(min(r.o.textBudget(), maxError))
	if r.o.Spool == nil {
		s.failed = errNoSpool
	} else {
		src := r.o.Source
		src.PageBytes = r.o.pageBytes()
		if r.o.PageItems > 0 {
			src.PageItems = r.o.PageItems
		}
		s.writer, s.failed = r.o.Spool.Create(src)
	}
	r.lexer.reset(s, r.o.Method)
	chunk := chunks.Get().(*[ChunkBytes]byte)
	defer chunks.Put(chunk)
	for from := r.raw.reader(0, r.raw.size); ; {
		n, err := from.Read(chunk[:])
		if n > 0 {
			if err := r.lexer.Feed(chunk[:n]); err != nil {
				return brokenOff(err)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("a temporary file cannot be read again: %w", err)
		}
	}
	r.raw.close()
	r.raw = spooledBuffer{dir: r.o.TempDir}
	if s.failed == nil && r.o.Early > 0 && r.o.ID != "" && !r.ended {
		r.early = r.startEarly()
	}
	return s.stop
}

// maxError bounds the message of a protocol error, in bytes; the bound of text is used if it is smaller.
const maxError = 64 << 10

// id returns the id of the composed message: the one in the response if it is short and valid, else the request's.
func (r *reading) id() jsonrpc.ID {
	found := r.prescan.id
	if r.spoolWriter != nil {
		found = r.spoolWriter.id
	}
	if n := len(found); n > 0 && n <= maxShort && (found[0] == '"' || found[0] == '-' || found[0] >= '0' && found[0] <= '9') && json.Valid(found) {
		return jsonrpc.ID(found)
	}
	return r.o.ID
}

// paged reports whether the result is delivered as a page: its text is too large, or a list in it too long.
func (r *reading) paged() bool {
	s := r.spoolWriter
	return s.blocksOmitted || s.text > min(r.o.maxText(), maxPage) || r.listed(&s.prescan)
}

// listed reports whether a list, or the number of text blocks, exceeds MaxItems.
func (r *reading) listed(s *prescan) bool {
	return r.o.MaxItems > 0 && (s.items > r.o.MaxItems || s.blocks > r.o.MaxItems)
}

// finish delivers the message, a composed one, or an error; err is the error of reading, or nil. The caller holds r.mu. Nothing is
// delivered after ctx has ended.
func (r *reading) finish(err error) {
	r.out.Cut = err
	if r.ctx.Err() != nil {
		if r.spoolWriter != nil && r.spoolWriter.writer != nil {
			_ = r.spoolWriter.writer.Cut("the call was cancelled")
		}
		r.out.ID = r.id()
		return
	}
	switch {
	case r.passing:
		r.finishPassing(err)
		return
	case r.spoolWriter == nil && err == nil:
		if r.lexerErr == nil {
			r.lexerErr = r.lexer.Finish()
		}
		switch {
		case r.lexerErr == nil && r.listed(&r.prescan):
			err = r.startSpooling()
		case r.lexerErr != nil && r.raw.size > r.o.textBudget():
			err = brokenOff(r.lexerErr)
		default:
			r.out.ID, r.out.Failed = r.id(), r.prescan.failed
			r.deliverRaw()
			return
		}
	}
	if r.spoolWriter == nil && r.prescan.text > 0 && r.o.Spool != nil && !r.prescan.failed {
		_ = r.startSpooling() // so that what came can be read
	}
	r.out.ID = r.id()
	if r.spoolWriter != nil && err == nil {
		if lost := r.lexer.Finish(); lost != nil {
			err = brokenOff(lost)
		}
	}
	if err != nil {
		r.out.Cut = err
		r.deliverCutOff(err)
		return
	}
	r.complete()
}

// finishPassing delivers a message that is not bounded. If it broke off, a request gets an error; other messages are dropped.
func (r *reading) finishPassing(err error) {
	switch {
	case err == nil:
		r.deliverRaw()
	case !r.prescan.method && r.o.ID != "":
		r.out.Failed = true
		r.deliver([]seg{{mem: jsonrpc.ErrorResponse(r.o.ID, jsonrpc.CodeInternal, r.brokenOffText(err), nil)}}, nil)
	}
}

// complete delivers the composed message of a response that has come whole, and ends its document in the spool. If the spool has failed,
// the answer is the beginning of the result, or an error.
func (r *reading) complete() {
	s := r.spoolWriter
	r.out.Failed = s.prescan.failed
	if s.isErr {
		if s.writer != nil {
			_ = s.writer.Discard()
		}
		r.deliver(s.composeError(r.out.ID), &s.kept)
		return
	}
	if s.failed == nil {
		s.failed = s.writer.Complete(spool.Final{Error: s.prescan.failed})
	}
	var view *View
	if s.failed == nil {
		r.out.Spilled, r.out.Handle = true, s.writer.Handle()
		var v View
		if v, s.failed = r.firstPage(r.ctx); s.failed == nil {
			if r.out.Items = v.Totals.Items; r.paged() {
				view = &v
			}
		}
	} else if s.writer != nil {
		_ = s.writer.Cut(shorten(s.failed.Error(), 200))
	}
	if s.failed != nil && (r.paged() || r.delivered) {
		r.out.Cut = s.failed
		r.out.Failed, r.out.Spilled, r.out.Handle = s.prescan.failed || r.o.Method == ReadResource, false, ""
		r.deliver(s.unkeptAnswer(r.out.ID), &s.kept)
		return
	}
	segs, failed := s.composeResult(r.out.ID, view, r.out.Handle)
	r.out.Failed = failed
	r.deliver(segs, &s.kept)
}

// firstPage reads page 1 of the document in the spool. It waits until that page is complete or ctx ends.
func (r *reading) firstPage(ctx context.Context) (View, error) {
	v := View{Handle: r.spoolWriter.writer.Handle(), Names: r.o.Names}
	res, err := r.o.Spool.Read(r.o.Source.Principal, v.Handle)
	if err != nil {
		return v, err
	}
	defer func() { _ = res.Close() }()
	if v.Page, err = res.Page(ctx, 1, 0); err != nil {
		return v, err
	}
	v.Totals = res.Totals()
	return v, nil
}
