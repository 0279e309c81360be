package core

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll/plimsoll/journal"
)

// stuck is a reader that takes one line and then nothing.
type stuck struct{ never chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	<-s.never
	return 0, io.ErrClosedPipe
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestAReaderOfEventsNeverHoldsUpARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		log := NewEventLog(s)
		j := journal.New(journal.Options{Observers: []journal.Observer{log}})
		for range logLines + 100 {
			j.Append(journal.Warned{Text: "x"}) // would never return
		}
		err := log.Close()
		if err == nil || !strings.Contains(err.Error(), "events were not printed") {
			t.Errorf("%v", err)
		}
		j.Append(journal.Warned{Text: "of a request that was cut"})
		close(s.never)
	})
	log := NewEventLog(broken{})
	j := journal.New(journal.Options{Observers: []journal.Observer{log}})
	for range 3 {
		j.Append(journal.Warned{Text: "x"})
	}
	if err := log.Close(); err == nil || !strings.HasPrefix(err.Error(), "3 events") {
		t.Errorf("a reader that is gone: %v", err)
	}
	var b bytes.Buffer
	log = NewEventLog(&b)
	j = journal.New(journal.Options{Observers: []journal.Observer{log}})
	for range 50 {
		j.Append(journal.Warned{Text: "x"})
	}
	if err := log.Close(); err != nil || strings.Count(b.String(), "\n") != 50 {
		t.Errorf("%v, %d lines of 50", err, strings.Count(b.String(), "\n"))
	}
}
