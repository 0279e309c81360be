package core

import (
	"os"

	"github.com/plimsoll/plimsoll/internal/process/termination"
	"github.com/plimsoll/plimsoll/journal"
)

// WatchContainer writes why the container around this process dies of memory into its termination message, before it does. inner are the
// limits inside in words. A line that is crossed is a warning for warn, and for the journal where there is one. nil is where there is
// no such message, and inside a run, which watches itself.
func WatchContainer(inner string, j *journal.Journal, warn func(text string)) *termination.Watch {
	if InsideRun() != "" {
		return nil
	}
	path, err := termination.Path(os.Getenv)
	if err != nil {
		warn(err.Error())
		return nil
	}
	w, err := termination.Start(termination.Options{
		Path: path, Inner: inner, Warn: warn,
		Note: func(e termination.Event) {
			if j != nil {
				j.Append(journal.Warned{About: "container", Text: e.String()})
			}
			warn(e.String())
		},
	})
	if err != nil {
		warn("nobody will be told why this container ended: " + err.Error())
	}
	return w
}

// LastWords returns what a termination message says of a program that ended with an error; "" for none.
func LastWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
