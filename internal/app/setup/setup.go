// Package setup makes the five changes by which Plimsoll is there without being typed, and takes them out again: the shell hook, the gateway
// in front of the MCP servers of clients that no run starts, the status line of Claude Code with notices, `plimsoll run` before the agents
// that editors start, and a bound of what definitions of tools take.
//
//	r, err := setup.Do(ctx, setup.Options{Ask: ask}) // asks what concerns what is installed; Yes answers them as proposed
//	r, err = setup.Undo(ctx, setup.Options{})
//
// A change puts one piece of text into a file and touches no other byte. The record, setup.json in the state directory, has the digests of
// the file before and after and none of its text, and is written first: a program that is killed in between can be undone. [Undo] gives back
// the file to the byte, or, when it has been changed since, takes out the piece alone. If a change fails, those before it are taken back;
// files are replaced whole, and only if they are still what was shown.
//
// A symbolic link is followed below the home directory only, unless Options.FollowLinks is set. Two programs at once wait for each other.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/shellenv"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// Options configure [Do] and [Undo]. Ask gives the answers that are missing; with Yes, or without Ask, they are the proposed ones.
type Options struct {
	// Agents are those that the shell hook runs in their limits: "all", "none", or names with commas between; "" means no answer.
	Agents string
	// MCP and Watch are the answers to the second and third: "yes", "no", or "".
	MCP, Watch string
	// Memory is the one to the fourth, and Facts and Meaning are those to what follows it where a model answers on this machine. "" is no
	// without Ask and with Yes: no model is agreed to by itself.
	Memory, Facts, Meaning string
	// Editors is the one to the fifth, which is asked where an editor starts an agent by a command. "" is no without Ask, Yes and DryRun.
	Editors string
	// ToolsMax is the one to the sixth, which is asked where a client has MCP servers and gives its model all their tools. "" is no
	// without Ask, with Yes or with DryRun.
	ToolsMax string
	// Yes answers all other questions as proposed.
	Yes bool
	// Ask asks a person; nil when there is none.
	Ask func(Question) (answer string, err error)
	// Shell is the shell whose file gets the hook; "" is the one that asks, see [shellenv.Detect].
	Shell string
	// FollowLinks follows symbolic links that lead out of the home directory.
	FollowLinks bool
	// DryRun changes nothing.
	DryRun bool
	// modelServers are the places to look for models; nil means those of the servers that people have.
	modelServers []modelServer
	// Getenv returns a variable of the environment; nil means os.Getenv.
	Getenv func(string) string
}

// The actions of a [Change].
const (
	Changed = "changed"
	Already = "already" // it is as it should be
	Left    = "left"    // as it is, see Why
	Undone  = "undone"
)

// Change describes the change of one file.
type Change struct {
	What   string `json:"what"` // "shell hook", "MCP servers", "status line", "notices", "memory", "facts by a model", "search by meaning", "agents in editors", "definitions of tools"
	File   string `json:"file"`
	Target string `json:"target,omitempty"` // behind symbolic links, when there are some
	Action string `json:"action"`
	Why    string `json:"why,omitempty"`
	Diff   string `json:"diff,omitempty"`
	// Exact reports whether an undone file is as it was, byte for byte.
	Exact bool `json:"exact,omitempty"`
}

// Result reports the changes made, or that would be.
type Result struct {
	Shell   string   `json:"shell"`
	DryRun  bool     `json:"dry_run"`
	Changes []Change `json:"changes"`
	Next    []string `json:"next"` // what is left for a person to do
}

// The names of what is set up.
const (
	whatHook    = "shell hook"
	whatServers = "MCP servers"
	whatLine    = "status line"
	whatNotices = "notices"
	whatMemory  = "memory"
	whatFacts   = "facts by a model"
	whatMeaning = "search by meaning"
	whatEditors = "agents in editors"
	whatBound   = "definitions of tools"
)

// ErrNobodyToAsk is the error of [Do] if one of the first three questions has no answer and nobody can be asked.
var ErrNobodyToAsk = errors.New("setup asks questions, and there is no terminal; plimsoll setup --yes takes the proposed answers, --dry-run shows what they would change")

// site is the state of one set-up.
type site struct {
	o       Options
	home    string
	shell   string
	program string
	record  record
	steps   []step
	result  Result
	asked   int // questions
	// planned holds the content that files will have after the steps so far, by target.
	planned map[string][]byte
	// undeferred lists the files of clients that give their model the definitions of all tools and have servers behind Plimsoll.
	undeferred []string
}

// step is a change that is computed and not yet made.
type step struct {
	do, back  func() error
	insertion *insertion
	wrapped   string // a file whose servers were wrapped
	editor    string // a file whose agents were
}

// open reads the record and takes its lock, which unlock releases; with DryRun nothing is locked or made. It is an error if the home
// directory is somebody else's.
func open(ctx context.Context, o Options) (*site, func(), error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	home := o.Getenv("HOME")
	if home == "" || !filepath.IsAbs(home) {
		found, err := os.UserHomeDir()
		if err != nil {
			return nil, nil, fmt.Errorf("there is no home directory to set up: %w", err)
		}
		home = found
	}
	if err := checkOwner(home); err != nil {
		return nil, nil, err
	}
	s := &site{o: o, home: home, planned: map[string][]byte{}, result: Result{DryRun: o.DryRun, Changes: []Change{}, Next: []string{}}}
	dirs := config.NewDirs(o.Getenv)
	state, err := dirs.State()
	if err != nil {
		return nil, nil, err
	}
	unlock := func() {}
	if !o.DryRun {
		if err := os.MkdirAll(state, 0o700); err != nil {
			return nil, nil, fmt.Errorf("the state directory cannot be made, so nothing was changed: %w", err)
		}
		lock, err := filelock.Open(ctx, filepath.Join(state, recordFile+".lock"))
		if err != nil {
			return nil, nil, fmt.Errorf("the state directory cannot be used, so nothing was changed: %w", err)
		}
		unlock = func() { _ = filelock.Release(lock) }
	}
	if s.record, err = readRecord(filepath.Join(state, recordFile)); err != nil {
		unlock()
		return nil, nil, err
	}
	return s, unlock, nil
}

// Do asks its questions and makes the changes. After an error nothing is changed, or what was is taken back as far as that is possible.
func Do(ctx context.Context, o Options) (Result, error) {
	if !o.Yes && !o.DryRun && o.Ask == nil && (o.Agents == "" || o.MCP == "" || o.Watch == "") {
		return Result{}, ErrNobodyToAsk
	}
	s, unlock, err := open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if s.program, _, err = shellenv.Program(); err != nil {
		return Result{}, err
	}
	if s.shell, err = shellenv.Choose(o.Shell, s.o.Getenv); err != nil && o.Shell != "" {
		return Result{}, err
	}
	s.result.Shell = s.shell
	protected, err := s.planAgents()
	if err != nil {
		return Result{}, err
	}
	if err := s.planServers(protected); err != nil {
		return Result{}, err
	}
	if err := s.planWatch(); err != nil {
		return Result{}, err
	}
	if err := s.planMemory(ctx); err != nil {
		return Result{}, err
	}
	if err := s.planEditors(); err != nil {
		return Result{}, err
	}
	if err := s.planToolsMax(); err != nil {
		return Result{}, err
	}
	if o.DryRun || len(s.steps) == 0 {
		return s.result, nil
	}
	if err := s.perform(); err != nil {
		return Result{}, err
	}
	return s.result, nil
}

// planAgents asks about the shell hook and plans the change. It returns the agents that run inside their limits then.
func (s *site) planAgents() (protected []string, err error) {
	there := shellenv.Installed(shellenv.Known())
	path := hookFile(s.shell, s.home, s.o.Getenv)
	change := Change{What: whatHook, File: path}
	switch {
	case len(there) == 0 && (s.o.Agents == "" || s.o.Agents == "all"):
		s.note(change, Left, "no agent is in PATH; looked for "+strings.Join(shellenv.Known(), ", "))
		return nil, nil
	case s.shell == "":
		s.note(change, Left, "which shell this is could not be found out: name it with --shell "+strings.Join(shellenv.Shells(), ", "))
		return nil, nil
	case path == "":
		s.note(change, Left, "a plain sh reads no file of yours unless ENV names one: put eval \"$(plimsoll shellenv)\" where it is read")
		return nil, nil
	}
	plan := func(agents string) (file, *insertion, error) {
		return s.planInsertion(whatHook, path, func(base []byte) (int, string, error) {
			at, text := hookText(base, hookLines(s.shell, s.program, agents))
			return at, text, nil
		})
	}
	answer, err := s.answer(Question{
		Flag: "agents", Text: "When you type " + list(there, "or") + ", run it in its limits?",
		About:   "Puts a line at the end of " + s.shortPath(path) + ". Scripts are not touched; `command " + firstName(there) + "` goes around it.",
		Answers: "Enter: all of them; or some of their names; n: none", Given: s.o.Agents, names: append([]string{}, there...),
	}, func() string { f, i, err := plan(""); return preview(f, i, err) })
	if err != nil {
		return nil, err
	}
	if answer == "none" {
		if f, err := readTarget(path, s.home, true); err == nil {
			if _, there := s.record.find(whatHook, f.target); there {
				s.note(change, Left, "it is there from an earlier set-up; plimsoll setup --undo takes all of that out")
			}
		}
		return nil, nil
	}
	protected = there
	words := ""
	if answer != "all" {
		if protected, err = shellenv.Names(s.shell, answer); err != nil {
			return nil, err
		}
		words = " " + strings.Join(protected, " ")
	}
	f, i, err := plan(words)
	return protected, s.addInsertion(change, f, i, err)
}

// planServers asks about the gateway in front of the MCP servers of clients that no run starts, and plans the changes. protected are the
// agents whose servers each run wraps.
func (s *site) planServers(protected []string) error {
	var files, undeferred []string
	for _, c := range clients(s.home, s.o.Getenv) {
		if _, err := os.Lstat(c.path); err != nil {
			continue
		}
		if slices.Contains(protected, c.tool) {
			// Their servers are wrapped in each run, and the file stays as it is.
			if servers, err := wrap.ReadFile(c.path); err == nil && len(servers) > 0 && !c.defers {
				s.undeferred = append(s.undeferred, c.path)
			}
			continue
		}
		f, err := readTarget(c.path, s.home, s.o.FollowLinks)
		if err != nil {
			s.failed(Change{What: whatServers, File: c.path}, err)
			continue
		}
		change, err := wrap.Plan(f.target, f.content, s.wrapping())
		switch {
		case err != nil || len(change.Servers) == 0: // most of these files have no servers
		case !change.Changed(f.content):
			already := false
			for _, server := range change.Servers {
				already = already || server.Action == wrap.Already
			}
			if already {
				s.note(Change{What: whatServers, File: c.path}, Already, "")
				if !c.defers {
					s.undeferred = append(s.undeferred, c.path)
				}
			}
		default:
			files = append(files, c.path)
			if !c.defers {
				undeferred = append(undeferred, c.path)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	yes, err := s.planWrapped(whatServers, files, s.wrapping(), Question{
		Flag: "mcp", Text: "Put Plimsoll in front of the MCP servers in " + s.shortPaths(files) + "?",
		About: "So that no result of a tool is too large: of large ones the agent gets the first page, and tools to read the rest.", Given: s.o.MCP,
	})
	if err != nil || !yes {
		return err
	}
	s.undeferred = append(s.undeferred, undeferred...)
	s.addNext("restart the clients whose MCP servers were changed")
	return nil
}

// planWrapped asks whether the commands in files are to be wrapped, and plans that. It returns whether the answer was yes.
func (s *site) planWrapped(what string, files []string, options wrap.Options, q Question) (bool, error) {
	q.Answers = "Enter: yes; n: no"
	answer, err := s.answer(q, func() string {
		var all strings.Builder
		for _, path := range files {
			if before, change, err := wrap.Preview(path, options); err == nil {
				all.WriteString(wrap.Diff(path, before, change.After))
			}
		}
		return all.String()
	})
	if err != nil || answer == "no" {
		return false, err
	}
	for _, path := range files {
		before, change, err := wrap.Preview(path, options)
		if err != nil {
			s.failed(Change{What: what, File: path}, err)
			continue
		}
		s.note(Change{What: what, File: path, Target: s.target(path), Diff: wrap.Diff(path, before, change.After)}, Changed, "")
		editor := what == whatEditors
		planned := step{
			do:   func() error { _, err := wrap.Apply(path, options); return err },
			back: func() error { _, err := wrap.Undo(path, editor); return err },
		}
		if editor {
			planned.editor = path
		} else {
			planned.wrapped = path
		}
		s.steps = append(s.steps, planned)
	}
	return true, nil
}

// shortPaths names files in a sentence.
func (s *site) shortPaths(files []string) string {
	shorts := make([]string, len(files))
	for i, path := range files {
		shorts[i] = s.shortPath(path)
	}
	return list(shorts, "and")
}

func (s *site) wrapping() wrap.Options { return wrap.Options{Command: s.program} }

// planWatch asks about the status line of Claude Code and about notices, and plans the changes.
func (s *site) planWatch() error {
	dirs := config.NewDirs(s.o.Getenv)
	own, err := dirs.ConfigFile()
	if err != nil {
		return err
	}
	type part struct {
		what, path string
		text       func(base []byte) (int, string, error)
	}
	parts := []part{{whatNotices, own, notify.text}}
	about := "The configuration gets notify = \"desktop\": when a run is killed, refused or waits, the desktop tells you."
	for _, a := range profile.All() {
		if a.StatusLine == nil {
			continue
		}
		settings := a.StatusLine(profile.Home{Dir: s.home, Get: s.o.Getenv})
		if _, err := os.Stat(filepath.Dir(settings)); err == nil || len(shellenv.Installed([]string{a.Name})) > 0 {
			parts = append([]part{{whatLine, settings, func(base []byte) (int, string, error) {
				return statusLineText(base, shellWord(s.program))
			}}}, parts...)
			about = a.Title + " gets a line at its bottom with memory and context of the run. " + about
		}
	}
	answer, err := s.answer(Question{
		Flag: "watch", Text: "Show what runs use, and tell you what happens to them?", About: about,
		Answers: "Enter: yes; n: no", Given: s.o.Watch,
	}, func() string {
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(preview(s.planInsertion(p.what, p.path, p.text)))
		}
		return all.String()
	})
	if err != nil || answer == "no" {
		return err
	}
	for _, p := range parts {
		f, i, err := s.planInsertion(p.what, p.path, p.text)
		if err := s.addInsertion(Change{What: p.what, File: p.path}, f, i, err); err != nil {
			return err
		}
	}
	return nil
}
