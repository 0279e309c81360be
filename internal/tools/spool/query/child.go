package query

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// maxOrder bounds the line that the parent sends, in bytes: the query, with escapes, and a path.
const maxOrder = 8 * MaxQuery

// Main runs the child: it reads an order and a document from standard input, writes the values to standard output and a report to standard
// error, and returns the exit status: 0 with a report, 2 if there was no order. If it needs too much memory it exits with status 3.
func Main() int {
	// Before anything else: from here on the process can neither open nor write a file.
	mapped := confine()
	debug.SetTraceback("none")
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	o, err := readOrder(in)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	timeout := time.Duration(o.Millis) * time.Millisecond
	bound(o.Memory, mapped, timeout)
	debug.SetMemoryLimit(o.Memory - o.Memory/8)
	debug.SetMaxStack(int(o.Memory / 4))

	var once sync.Once
	say := func(r report) {
		once.Do(func() {
			// The text is bounded so that the parent gets the whole line.
			r.Text = limit.Cut(r.Text, maxReport/8, func(int) string { return " […] " })
			line, err := json.Marshal(r)
			if err == nil {
				_, _ = os.Stderr.Write(line)
			}
		})
	}
	go watchMemory(o.Memory, func() {
		say(report{Kind: Memory, Text: memoryError(limit.Bytes(o.Memory)).Text, Offset: -1})
		os.Exit(3)
	})
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	say(execute(ctx, o, in, os.Stdout))
	return 0
}

// readOrder reads the order of the parent process, one line of JSON. Anything else means that the program was started by hand.
func readOrder(in *bufio.Reader) (order, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxOrder {
			return order{}, errors.New("this is a part of another program and not meant to be started by hand")
		}
	}
	var o order
	err := json.Unmarshal(line, &o)
	return o, err
}

// watchMemory calls exceeded once when the process holds more than memory bytes, and returns. Where the system has no such limit this is the only
// bound; elsewhere it acts before the harder one.
func watchMemory(memory int64, exceeded func()) {
	held := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for range time.Tick(5 * time.Millisecond) {
		metrics.Read(held)
		if held[0].Value.Uint64()-held[1].Value.Uint64() > uint64(memory) {
			exceeded()
			return
		}
	}
}

// execute runs one order, writes its values to out, and returns the report.
func execute(ctx context.Context, o order, in io.Reader, out io.Writer) (r report) {
	r.Offset = -1
	defer func() {
		if p := recover(); p != nil { // a fault of the interpreter that this query causes
			r.Kind, r.Text = Runtime, fmt.Sprintf("the query made the interpreter fail: %v", p)
		}
	}()
	fail := func(err error) report {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			e = errorf(Runtime, "%v", err)
		}
		r.Kind, r.Text, r.Offset = e.Kind, e.Text, e.Offset
		return r
	}
	p, err := prepare(o)
	if err != nil {
		return fail(err)
	}
	var input any
	if p.items {
		p.stream.in = bufio.NewReaderSize(io.LimitReader(in, o.Size), 64<<10)
	} else if input, err = readWhole(o, in); err != nil {
		return fail(err)
	}
	w := &values{out: out, room: o.MaxBytes}
	err = w.run(ctx, p, input)
	r.Values, r.Cut = w.written, w.cut
	r.Items, r.Skipped, r.FirstSkipped = p.stream.seen, p.stream.skipped, p.stream.first
	switch {
	case ctx.Err() != nil:
		return fail(timeoutError(time.Duration(o.Millis) * time.Millisecond))
	case p.stream.err != nil:
		err = p.stream.err // also if the query caught it
	}
	if err != nil {
		fail(err)
		if p.items && p.stream.err == nil {
			r.Text = fmt.Sprintf("at item %d: %s", p.stream.seen, r.Text)
		}
	}
	return r
}

// readWhole reads the whole document and returns it as a value: that of the JSON, an array of the lines, or an array of the blocks' values.
func readWhole(o order, in io.Reader) (any, error) {
	document := make([]byte, o.Size)
	if n, err := io.ReadFull(in, document); err != nil {
		return nil, errorf(Document, "only %d of %d bytes of the result could be read: %v", n, o.Size, err)
	}
	document = bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	if o.Shape == Blocks {
		if values, ok := sequence(document); ok {
			return values, nil
		}
	}
	if o.Shape != JSON {
		var lines []any
		for line := range bytes.Lines(document) {
			lines = append(lines, text(bytes.TrimRight(line, "\r\n")))
		}
		return lines, nil
	}
	return decode(document)
}
