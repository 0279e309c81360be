package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// engine is one whose answers are the test's.
type engine struct {
	Engine
	status func() (Status, error)
}

func (e engine) Status(_ context.Context, refs []Ref) (map[string]Status, error) {
	s, err := e.status()
	return map[string]Status{refs[0].ID: s}, err
}

// Each write comes once and whole, whenever it is looked for, and what comes at the end too.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		began, looks := time.Now(), 0
		e := engine{status: func() (Status, error) {
			switch looks++; looks {
			case 2:
				write(OutName, "one\n")
			case 3:
				write(OutName, "two\n")
				write(ErrName, "oh\n")
				return Status{}, errors.New("no answer")
			case 8:
				write(ReportName, "{}")
			case 9:
				write(OutName, "last\x00\xff")
				return Status{Phase: Ended}, nil
			}
			return Status{Phase: Running}, nil
		}}
		err := Tail(t.Context(), e, Ref{ID: "a", Folder: dir}, &out, &errs)
		if err != nil || out.String() != "one\ntwo\nlast\x00\xff" || errs.String() != "oh\n" {
			t.Errorf("%q, %q, %v", out.String(), errs.String(), err)
		}
		if took := time.Since(began); took < 35*time.Second || took > 37*time.Second {
			t.Errorf("it was asked nine times in %v: seldom at first, and at once when the report was there", took)
		}
		e.status = func() (Status, error) { return Status{}, errors.New("no answer") }
		if err := Tail(t.Context(), e, Ref{ID: "a", Folder: dir}, &out, &errs); err == nil || err.Error() != "no answer" {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Tail(ctx, e, Ref{ID: "a", Folder: dir}, &out, &errs); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// A file that a program appends to stays within its bound and has its beginning and its end; the program notices nothing.
func TestBound(t *testing.T) {
	f, errs, err := OpenOutput(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	defer f.Close()
	writer, err := os.OpenFile(f.Name(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	b, written := Bound{File: f, Path: f.Name(), Max: 1 << 20}, limit.Bytes(0)
	for i := range 200_000 {
		n, err := fmt.Fprintf(writer, "line %d of many\n", i)
		if err != nil {
			t.Fatal(err)
		}
		if written += limit.Bytes(n); i%1000 == 0 {
			if err := b.Trim(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(f.Name())
	if err != nil || len(text) > int(b.Max)+20_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	mark := "\nplimsoll: " + b.Cut.Human() + " of the output were left out here\nline "
	if s := string(text); !strings.HasPrefix(s, "line 0 of many\n") || !strings.HasSuffix(s, "\nline 199999 of many\n") || strings.Count(s, mark) != 1 || strings.Count(s, "plimsoll") != 1 {
		t.Errorf("%.30q … %q: %d times %q", s, s[len(s)-30:], strings.Count(s, mark), mark)
	}
	if kept := written - b.Cut; kept > limit.Bytes(len(text)) || kept < limit.Bytes(len(text))-10_000 { // what it says of earlier cuts is cut too
		t.Errorf("%d of %d bytes were cut, and %d are there", b.Cut, written, len(text))
	}
}
