// Package memories is the memory plane for the user's programs: where it lies, what the command line does with it, and what agents are
// offered.
//
//	m, err := memories.Open(core, memories.Options{})
//	defer m.Close()
//	found, err := m.Search(ctx, memories.Query{Text: "which database"})
//
// What a person adds outside of a run has the origin "user". Inside a run, which package fence finds out whatever the process has shed, the
// same commands write as "agent", and pinning, confirming and forgetting what others said are refused: whatever reads a web page there must
// not give orders to later sessions.
//
// The pinned profile is the file profile.md. Each entry of it is also a record of kind "pin", so that it is listed and found; the file
// counts, and the records follow it.
package memories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/memtools"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/process/fence"
	"github.com/plimsoll/plimsoll/journal"
)

// What the memory holds and does, as the commands show it.
type (
	Record    = memory.Record
	Item      = memory.Item
	Use       = memory.Use
	Place     = memory.Place
	Recipient = memory.GivenFilter
	Forgotten = memory.Forgotten
	Collected = memory.Collected
)

// UserNamespace is the namespace of records that belong to the user in any project.
const UserNamespace = "user"

// Options configure [Open]; the zero value works.
type Options struct {
	// Journal records what the bounds remove; nil records nothing.
	Journal *journal.Journal
	// Elsewhere lists other stores that may hold the words of a record and have to forget them.
	Elsewhere []memory.Elsewhere
	// Vectors selects whether searches also go by meaning.
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
	// onSearch makes a search first make the vectors that are missing.
	onSearch bool
}

// Dir is the name of the memory's directory below the state directory.
const Dir = "memory"

// The directories of notes and of the profile, beside it.
const (
	notesDir   = "notes"
	profileDir = "profile"
)

// Open opens the memory and makes the state directory. It reads no record.
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
	m.setVectors(&options, settings.Memory, o.Vectors)
	cache, err := c.Dirs.Cache()
	if err != nil {
		cache = "" // nothing is kept there then
	}
	options.Elsewhere = append(o.Elsewhere, stores.Elsewhere(state, cache)...)
	if m.Store, err = memory.Open(options); err != nil {
		return nil, err
	}
	return m, nil
}

// StoreOptions returns the options of the store as configured; inside of a run no bound is smaller than by default. It makes the state directory.
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
	guest := c.Fence().Inside()
	if guest { // who is inside of a run also sets its variables and names its file: small bounds would forget what others said
		m.DiskMax, m.Age = max(m.DiskMax, memory.DefaultMaxBytes), max(m.Age, memory.DefaultMaxAge)
	}
	return memory.Options{
		Dir: filepath.Join(state, Dir), Journal: j, MaxNamespace: min(memory.DefaultMaxNamespace, m.DiskMax), MaxBytes: m.DiskMax, MaxAge: m.Age,
		MaxVectors: memory.DefaultMaxVectors, Log: c.Log(), Guest: guest,
	}, nil
}

// Exists reports whether the memory has a directory, that is whether anything was ever kept.
func Exists(c *core.Core) bool {
	state, err := c.Dirs.State()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(state, Dir))
	return err == nil
}

// OpenProfile returns the user's profile without opening the rest of the memory.
func OpenProfile(c *core.Core) (*notes.Profile, error) {
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	return notes.NewProfile(notes.ProfileOptions{Dir: filepath.Join(state, profileDir)}), nil
}

// Close closes the store.
func (m *Memory) Close() error { return m.Store.Close() }

// Fence returns whether this process is inside a run, where an agent may be the one who acts.
func (m *Memory) Fence() fence.Finding { return m.fence }

// Origin returns the origin of the records that this process adds: [memory.OriginAgent] inside a run, else [memory.OriginUser].
func (m *Memory) Origin() memory.Origin {
	if m.fence.Inside() {
		return memory.OriginAgent
	}
	return memory.OriginUser
}

// ErrInRun is wrapped by the errors of operations that are for a person and are refused inside a run.
var ErrInRun = errors.New("this is inside a run, where an agent may be the one who asks: do it in a shell of your own, outside of plimsoll run")

// requirePerson returns an error that wraps [ErrInRun] inside a run, else nil.
func (m *Memory) requirePerson() error {
	if !m.fence.Inside() {
		return nil
	}
	return fmt.Errorf("%w (%s)", ErrInRun, m.fence.Why)
}

// ProjectNamespace returns the namespace of the project that a directory belongs to; "" is the working directory.
func ProjectNamespace(dir string) string {
	dir = cmp.Or(dir, ".")
	return "project/" + config.ProjectOf(dir).Key
}

// Notes opens the files that agents write in a namespace, under the name of a client. Searches find a changed file at once; if that fails,
// there is a warning.
func (m *Memory) Notes(ctx context.Context, namespace, client string) (*notes.Dir, error) {
	return notes.Open(notes.Options{
		Dir: m.notesPath(namespace),
		Changed: func(path, text string, removed bool) {
			if err := memtools.NoteChanged(context.WithoutCancel(ctx), m.Store, namespace, client, path, text, removed); err != nil {
				m.core.Warn(fmt.Sprintf("%s is not found by searches: %v", path, err)) // the file is right
			}
		},
		Evicted: func(path string, bytes int64, why string) {
			m.appendEvent(journal.MemoryNoteEvicted{Path: path, Bytes: bytes, Why: why})
		},
	})
}

// notesPath returns the directory of the notes of a namespace.
func (m *Memory) notesPath(namespace string) string {
	return filepath.Join(m.state, notesDir, config.SafeName(namespace))
}

// appendEvent writes an event to the journal, if there is one.
func (m *Memory) appendEvent(e journal.Event) {
	if m.journal != nil {
		m.journal.Append(e)
	}
}

// ToolOptions configure [Memory.Tools].
type ToolOptions struct {
	// Namespace is the namespace that the tools write to; "" means the project of the working directory.
	Namespace string
	// Search lists the namespaces that they search; nil means Namespace and the user's.
	Search []string
	// Client is the name of the writer, and Conversation the one in which it writes.
	Client, Conversation string
	// Own means that this user has started the client: it finds the records of every scope. Others find those without a scope.
	Own      bool
	ReadOnly bool
}

// Tools returns the memory's tools for an agent.
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

// syncPins makes the records of kind pin agree with the entries of the profile in force: it removes and adds some.
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
