package spool

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// waitForEnd waits until the result has ended and returns its document. The error is ctx's, or *NotFound if the result is gone.
func (r *Result) waitForEnd(ctx context.Context) (*view, error) {
	for {
		v, w, err := r.complete()
		if v != nil || err != nil {
			return v, err
		}
		if err := r.waitForMore(ctx, w); err != nil {
			return nil, err
		}
	}
}

// waitForMore waits until the result may have grown or ended; it may return earlier. w is nil if another process writes the result: then it
// waits for pollEvery, and fails with *NotFound if that process has died. ctx ends the waiting with its error.
func (r *Result) waitForMore(ctx context.Context, w *Writer) error {
	if w == nil {
		t := time.NewTimer(pollEvery)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			return r.checkWriter()
		}
	}
	w.mu.Lock()
	if w.meta != nil || w.gone {
		w.mu.Unlock()
		return nil
	}
	wake := w.wake
	w.waiting++
	before := w.size
	_ = w.storeBuffer(false)
	moved := w.size != before
	err := w.err
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.waiting--
		w.mu.Unlock()
	}()
	if moved {
		return nil
	}
	_ = err // the writer gets the error too; its Cut or Discard wakes us
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
		return nil
	}
}

// checkWriter returns *NotFound if the process that writes the result has died without finishing it: then the lock can be taken exclusively
// and there is no meta file. Otherwise it returns nil, also if another reader holds the lock. It gives up this reader's own lock for a
// moment; if it cannot get that back, the error is *NotFound too.
func (r *Result) checkWriter() error {
	filelock.Unlock(r.lock)
	alone, err := filelock.Try(r.lock, filelock.Exclusive)
	if alone {
		filelock.Unlock(r.lock)
	}
	if ok, e := filelock.Try(r.lock, filelock.Shared); e != nil || !ok {
		return &NotFound{}
	}
	if _, missing := readMeta(r.s.root, r.id.String()); alone && errors.Is(missing, os.ErrNotExist) {
		return &NotFound{}
	}
	return err
}

// Range returns up to n bytes (PageBytes if n <= 0, at least 4, at most MaxRange) of the stored text from offset off, whole characters only: an
// offset within a character is moved to the next one. It waits until there is a byte at off or the result ends; an offset beyond the end is *NoRange.
func (r *Result) Range(ctx context.Context, off, n int64) (Piece, error) {
	if n <= 0 {
		n = int64(r.head.PageBytes)
	}
	n = min(max(n, utf8.UTFMax), MaxRange)
	for {
		v, w, err := r.complete()
		if err != nil {
			return Piece{}, err
		}
		var total int64
		switch {
		case v != nil:
			total = v.m.Stored
		case w != nil:
			w.mu.Lock()
			total = w.size
			w.mu.Unlock()
		}
		if off < 0 || v != nil && off >= total && (off > 0 || total > 0) {
			return Piece{}, &NoRange{off, total}
		}
		if off < total || v != nil {
			return r.piece(off, min(off+n, total), total, v != nil)
		}
		if err := r.waitForMore(ctx, w); err != nil {
			return Piece{}, err
		}
	}
}

// piece reads the stored text from offset from to offset to, and moves both so that no character is cut. total and complete are those of
// the text so far.
func (r *Result) piece(from, to, total int64, complete bool) (Piece, error) {
	b := make([]byte, to-from)
	if n, err := r.text.ReadAt(b, from); n < len(b) && err != nil && err != io.EOF {
		return Piece{}, err
	}
	for range utf8.UTFMax - 1 {
		if len(b) > 0 && !utf8.RuneStart(b[0]) {
			b, from = b[1:], from+1
		}
	}
	if to < total || !complete {
		b = b[:len(b)-incompleteRune(b)]
	}
	return Piece{Text: b, From: from, To: from + int64(len(b)), Total: total, Complete: complete}, nil
}
