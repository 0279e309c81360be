package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// planInsertion computes the change of a file. text returns the piece of text for the file without ours, and its offset. The insertion is
// nil, with a nil error, if the file has that very text already.
func (s *site) planInsertion(what, path string, text func(base []byte) (int, string, error)) (file, *insertion, error) {
	f, err := readTarget(path, s.home, s.o.FollowLinks)
	if err != nil {
		return f, nil, err
	}
	if planned, ok := s.planned[f.target]; ok {
		f.content, f.missing, f.folders = planned, false, nil
	}
	base, made, folders := f.content, f.missing, f.folders
	kept := ""
	if old, ok := s.record.find(what, f.target); ok {
		if without, _, found := old.remove(f.content); found {
			base, made, folders, kept = without, old.Made, old.Folders, strings.TrimSpace(old.Text)
		}
	}
	if what == whatHook {
		base = withoutMarked(base)
	}
	at, piece, err := text(base)
	if err != nil {
		return f, nil, err
	}
	i := &insertion{What: what, Path: f.target, At: at, Text: piece, Made: made, Folders: folders}
	f.after = i.apply(base)
	if string(f.after) == string(f.content) && !f.missing || kept != "" && kept == strings.TrimSpace(piece) { // elsewhere is as good
		return f, nil, nil
	}
	return f, i, nil
}

// addInsertion adds a computed insertion to the plan. If err is not nil, the file is noted as left alone; if i is nil, as done already.
func (s *site) addInsertion(change Change, f file, i *insertion, err error) error {
	change.Target = s.target(change.File)
	if err != nil {
		s.failed(change, err)
		return nil
	}
	if i == nil {
		s.note(change, Already, "")
		return nil
	}
	change.Diff = wrap.Diff(change.File, f.content, f.after)
	s.note(change, Changed, "")
	s.planned[f.target] = f.after
	if i.What == whatHook {
		s.addNext("open a new terminal, where the agents run in their limits")
	}
	s.steps = append(s.steps, step{
		do: func() error { return f.replace(f.after) },
		back: func() error {
			if f.missing {
				return removeFile(f.target, f.folders)
			}
			undo := f
			undo.content, undo.folders = f.after, nil
			return undo.replace(f.content)
		},
		insertion: i,
	})
	return nil
}

// target returns the file that path leads to over symbolic links, "" if there is none on the way or it cannot be read. A link to the home
// directory does not count.
func (s *site) target(path string) string {
	f, err := readTarget(path, s.home, true)
	top, homeErr := filepath.EvalSymlinks(s.home)
	if err != nil || homeErr != nil {
		return ""
	}
	plain := path
	if rel, err := filepath.Rel(s.home, path); err == nil && isBelow(path, s.home) {
		plain = filepath.Join(top, rel) // a home directory behind a link is nothing to tell
	}
	if f.target == plain {
		return ""
	}
	return f.target
}

// preview returns the difference that a change makes to a file, or a sentence if there is none or err says why not.
func preview(f file, i *insertion, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("%s is left as it is: %v\n", f.path, err)
	case i == nil:
		return f.path + " needs no change\n"
	}
	return wrap.Diff(f.path, f.content, f.after)
}

// note adds a change to the result, with its action and why.
func (s *site) note(change Change, action, why string) {
	change.Action, change.Why = action, why
	s.result.Changes = append(s.result.Changes, change)
}

// failed notes a file that is left alone, for a reason of its own or because it cannot be read, or as done already if err says so.
func (s *site) failed(change Change, err error) {
	if l := leaveReason(err); l != nil && l.already {
		s.note(change, Already, l.why)
		return
	}
	s.note(change, Left, err.Error())
}

func (s *site) addNext(text string) { s.result.Next = append(s.result.Next, text) }

// shortPath returns a path as people write it, with ~ for the home directory.
func (s *site) shortPath(path string) string {
	if isBelow(path, s.home) {
		return "~" + strings.TrimPrefix(path, s.home)
	}
	return path
}

// perform makes all planned changes or none. It writes the record first: whoever is killed in between can undo.
func (s *site) perform() error {
	before := s.record.clone()
	for _, step := range s.steps {
		switch {
		case step.insertion != nil:
			s.record.put(*step.insertion)
		case step.wrapped != "":
			s.record.wrap(step.wrapped)
		case step.editor != "":
			s.record.wrapAgents(step.editor)
		}
	}
	if err := s.record.write(); err != nil {
		return fmt.Errorf("what is changed cannot be recorded, so nothing was: %w", err)
	}
	for i, step := range s.steps {
		err := step.do()
		if err == nil {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			err = errors.Join(err, s.steps[j].back())
		}
		if record := before.write(); record != nil {
			err = errors.Join(err, record)
		}
		return fmt.Errorf("nothing is set up, what had been changed was taken back: %w", err)
	}
	return nil
}

// checkOwner returns an error if home is not a directory or belongs to somebody else: files in it would be root's afterwards.
func checkOwner(home string) error {
	info, err := os.Stat(home)
	if err != nil {
		return fmt.Errorf("the home directory cannot be used: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("HOME is %s, which is no directory", home)
	}
	if !statefile.IsOwn(info) {
		return fmt.Errorf("%s belongs to another user, and files in it would be yours afterwards: run plimsoll setup as that user, without sudo", home)
	}
	return nil
}
