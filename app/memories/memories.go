package memories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/memory"
	"github.com/plimsoll/plimsoll/memory/memtools"
	"github.com/plimsoll/plimsoll/memory/notes"
	"github.com/plimsoll/plimsoll/process/fence"
)

// UserNamespace is the namespace of records that belong to the user in any project.
const UserNamespace = "user"

// Options configure [Open]; the zero value works.
type Options struct {
	// Journal takes what the bounds do; nil drops it.
	Journal *journal.Journal
	// Elsewhere are other stores that may hold the words of a record, for forgetting.
	Elsewhere []memory.Elsewhere
	// Vectors chooses whether searches also go by meaning.
	Vectors Vectors
}

// Memory is this user's memory.
type Memory struct {
	Store   *memory.Store
	Profile *notes.Profile

	core    *core.Core
	state   string
	journal *journal.Journal
	fence   fence.Finding // whether this process is inside a run
	// onSearch is true when a search makes the vectors first that are missing.
	onSearch bool
}

// Dir is the directory of the memory, below the state directory.
const Dir = "memory"

// The directories of notes and of the profile, beside it.
const (
	notesDir   = "notes"
	profileDir = "profile"
)

// Open opens the memory. It reads nothing of what is remembered.
func Open(c *core.Core, o Options) (*Memory, error) {
	state, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, fmt.Errorf("the memory needs a directory: %w; set PLIMSOLL_STATE_DIR to one that is yours to write to", err)
	}
	m := &Memory{core: c, state: state, journal: o.Journal, fence: c.Fence()}
	m.Profile = notes.NewProfile(notes.ProfileOptions{Dir: filepath.Join(state, profileDir)})
	options, err := StoreOptions(c, o.Journal)
	if err != nil {
		return nil, err
	}
	settings, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	m.withVectors(&options, settings.Memory, o.Vectors)
	cache, err := c.Dirs.Cache()
	if err != nil {
		cache = "" // nothing is kept there then
	}
	options.Elsewhere = append(append(o.Elsewhere, notesElsewhere{m}), otherStores(state, cache)...)
	if m.Store, err = memory.Open(options); err != nil {
		return nil, err
	}
	return m, nil
}

// StoreOptions returns those of the store, as configured.
func StoreOptions(c *core.Core, j *journal.Journal) (memory.Options, error) {
	state, err := c.Dirs.EnsureState()
	if err != nil {
		return memory.Options{}, fmt.Errorf("the memory needs a directory: %w; set PLIMSOLL_STATE_DIR to one that is yours to write to", err)
	}
	settings, err := c.Config.For("")
	if err != nil {
		return memory.Options{}, err
	}
	m := settings.Memory
	return memory.Options{
		Dir: filepath.Join(state, Dir), Journal: j, MaxNamespace: min(m.NamespaceMax, m.DiskMax), MaxRecords: m.Records, MaxBytes: m.DiskMax, MaxAge: m.Age,
		MaxVectors: m.VectorsMax, Log: c.Log(),
	}, nil
}

// Exists reports whether anything was ever kept.
func Exists(c *core.Core) bool {
	state, err := c.Dirs.State()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(state, Dir))
	return err == nil
}

// ProfileOf returns the user's profile, without the rest of the memory.
func ProfileOf(c *core.Core) (*notes.Profile, error) {
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	return notes.NewProfile(notes.ProfileOptions{Dir: filepath.Join(state, profileDir)}), nil
}

// Close ends the use of the memory.
func (m *Memory) Close() error { return m.Store.Close() }

// Fence returns whether this process is inside a run, where an agent may be the one who acts.
func (m *Memory) Fence() fence.Finding { return m.fence }

// Origin returns the author of the words that this process adds.
func (m *Memory) Origin() memory.Origin {
	if m.fence.Inside() {
		return memory.OriginAgent
	}
	return memory.OriginUser
}

// ErrInRun is wrapped by the errors of what is for a person, outside of runs.
var ErrInRun = errors.New("this is inside a run, where an agent may be the one who asks: do it in a shell of your own, outside of plimsoll run")

// refuseAgent returns the error of what an agent may not do, nil outside of runs.
func (m *Memory) refuseAgent() error {
	if !m.fence.Inside() {
		return nil
	}
	return fmt.Errorf("%w (%s)", ErrInRun, m.fence.Why)
}

// ProjectNamespace returns the namespace of the project of a directory; "" is the working directory.
func ProjectNamespace(dir string) string {
	if dir == "" {
		dir = "."
	}
	return "project/" + config.ProjectOf(dir).Key
}

// Notes returns the files of agents in a namespace. What changes there is found by a search at once.
func (m *Memory) Notes(ctx context.Context, namespace, client string) (*notes.Dir, error) {
	return notes.Open(notes.Options{
		Dir: m.notesPath(namespace),
		Changed: func(path, text string, removed bool) {
			if err := memtools.NoteChanged(context.WithoutCancel(ctx), m.Store, namespace, client, path, text, removed); err != nil {
				m.core.Warn(fmt.Sprintf("%s is not found by searches: %v", path, err)) // the file is right
			}
		},
		Evicted: func(path string, bytes int64, why string) {
			m.append(journal.MemoryNoteEvicted{Path: path, Bytes: bytes, Why: why})
		},
	})
}

func (m *Memory) notesPath(namespace string) string {
	return filepath.Join(m.state, notesDir, config.SafeName(namespace))
}

func (m *Memory) append(e journal.Event) {
	if m.journal != nil {
		m.journal.Append(e)
	}
}

// ToolOptions name the namespaces and the client of the tools.
type ToolOptions struct {
	// Namespace is the one that they write to; "" is the project of the working directory.
	Namespace string
	// Search are the namespaces that they find in; nil is Namespace and the user's.
	Search []string
	// Client is the name of the writer, and Conversation the place.
	Client, Conversation string
	// Own is true when this user has started the client: it finds what was said with any credential. Others find what was said with none.
	Own      bool
	ReadOnly bool
}

// Tools returns the tools for agents.
func (m *Memory) Tools(ctx context.Context, o ToolOptions) (*memtools.Toolset, error) {
	if o.Namespace == "" {
		o.Namespace = ProjectNamespace("")
	}
	files, err := m.Notes(ctx, o.Namespace, o.Client)
	if err != nil {
		return nil, err
	}
	return memtools.New(memtools.Options{
		Store: m.Store, Notes: files, Namespace: o.Namespace, Search: o.Search, AllScopes: o.Own, Client: o.Client, Run: m.fence.Run,
		Conversation: o.Conversation, ReadOnly: o.ReadOnly,
	})
}

// notesElsewhere forgets what agents wrote into files.
type notesElsewhere struct{ m *Memory }

// Name implements [memory.Elsewhere].
func (notesElsewhere) Name() string { return "notes of agents" }

// Forget removes the files that hold the words of what was forgotten.
func (n notesElsewhere) Forget(ctx context.Context, match memory.Match, dry bool) (places []memory.Place, err error) {
	root := filepath.Join(n.m.state, notesDir)
	dirs, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	words := match.Finder()
	var all error
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		// No record follows these files: no search finds them by now.
		d, err := notes.Open(notes.Options{Dir: filepath.Join(root, dir.Name())})
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		list, err := d.List()
		all = errors.Join(all, err)
		for _, note := range list {
			text, err := d.Read(note.Path)
			if err != nil || !words.In([]byte(text)) {
				continue
			}
			if !dry {
				if _, err := d.Do(ctx, notes.Command{Command: "delete", Path: note.Path}); err != nil {
					all = errors.Join(all, err)
					continue
				}
			}
			places = append(places, memory.Place{Name: dir.Name() + note.Path, What: memory.Removed})
		}
	}
	return places, all
}

// syncPins makes the records of kind pin those of the profile's text in force.
func (m *Memory) syncPins(ctx context.Context) error {
	text, err := m.Profile.InForce()
	if err != nil {
		return err
	}
	pins, err := m.Store.Pins(ctx, UserNamespace)
	if err != nil {
		return err
	}
	entries := notes.Entries(text)
	for _, p := range pins {
		if !slices.ContainsFunc(entries, func(e notes.Entry) bool { return e.Text == p.Text }) {
			if err := m.Store.Remove(ctx, p.ID); err != nil && !errors.Is(err, memory.ErrNotFound) {
				return err
			}
		}
	}
	for _, e := range entries {
		if slices.ContainsFunc(pins, func(p memory.Record) bool { return p.Text == e.Text }) {
			continue
		}
		added, err := m.Store.Add(ctx, memory.Record{
			Kind: memory.KindPin, Origin: memory.OriginUser, Namespace: UserNamespace, Text: e.Text, Source: memory.Source{File: notes.ProfileFile},
		})
		if err != nil {
			return err
		}
		if added.Refused > 0 {
			m.core.Warn(fmt.Sprintf("%s is pinned, but no search finds it: these words were forgotten once", e.ID))
		}
	}
	return nil
}
