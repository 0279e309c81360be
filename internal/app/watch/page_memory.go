package watch

import (
	"context"
	_ "embed" // the page's script
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/limit"
)

//go:embed pages/memory.js
var memoryScript []byte

const (
	// maxRemembered bounds the records shown at once on the page of the memory.
	maxRemembered = 50
	// shownWords bounds the text of a record in a list, in runes; the view of its origin shows all.
	shownWords = 400
	// idleMemory is the time for which the memory, with its index, stays open after the last look.
	idleMemory = time.Minute
)

// memoryPage returns the page that shows and searches what is remembered, with its origin. The dashboard only reads: records are forgotten
// on the command line, and the page shows the command.
func memoryPage(s source) (dashboard.Page, bool) {
	r := &remembered{source: s}
	return dashboard.Page{Name: "memory", Title: "Memory", Script: memoryScript, Data: r.overview, Ask: r.search}, true
}

// remembered reads the memory for the viewers of its page.
type remembered struct {
	source source

	mu    sync.Mutex
	open  *memories.Memory // nil while nobody looks
	close *time.Timer
	seen  string // the state of the files that shown is of
	shown memoryOverview
}

// memoryOverview is the content of the page before anything is asked.
type memoryOverview struct {
	Records    []shownRecord    `json:"records"` // the newest
	Total      int              `json:"total"`
	Namespaces *dashboard.Table `json:"namespaces"`
	Pins       *dashboard.Table `json:"pins"`
}

// shownRecord is a record in a list.
type shownRecord struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Origin    string    `json:"origin"`
	Namespace string    `json:"namespace"`
	Text      string    `json:"text"`
	Cut       bool      `json:"cut,omitempty"` // there is more of the text
	Said      time.Time `json:"said"`
	Count     int       `json:"count"`
	Source    string    `json:"source,omitempty"`
	Run       string    `json:"run,omitempty"`
	Withheld  bool      `json:"withheld,omitempty"` // a person took it back, or one about the same
}

// shownOf returns a record as the page shows it, with at most shownWords characters of its text.
func shownOf(r memory.Record) shownRecord {
	r = readable(r)
	text := limit.ShortRunes(r.Text, shownWords)
	parts := slices.DeleteFunc([]string{r.Source.Client, r.Source.Speaker, r.Source.Tool, r.Source.File}, func(p string) bool { return p == "" })
	return shownRecord{
		ID: r.ID, Kind: string(r.Kind), Origin: string(r.Origin), Namespace: r.Namespace, Text: text, Cut: text != r.Text, Said: r.Said, Count: r.Count,
		Source: strings.Join(parts, ", "), Run: r.Source.Run, Withheld: r.Withheld,
	}
}

// readable returns a record without characters that turn the direction of writing or would control a terminal to which it is copied.
func readable(r memory.Record) memory.Record {
	r.Text = printable.Text(r.Text)
	for _, field := range []*string{&r.Source.Client, &r.Source.Run, &r.Source.Conversation, &r.Source.Role, &r.Source.Speaker, &r.Source.Tool, &r.Source.File} {
		*field = printable.Name(*field)
	}
	if r.Fact != nil {
		f := *r.Fact
		for _, field := range []*string{&f.Subject, &f.Attribute, &f.Value, &f.Quote} {
			*field = printable.Text(*field)
		}
		r.Fact = &f
	}
	return r
}

func shownAll(list []memory.Record) []shownRecord {
	out := make([]shownRecord, len(list))
	for i := range list {
		out[i] = shownOf(list[i])
	}
	return out
}

// openMemory returns the memory, which it opens if necessary, and which is closed once it was not used for idleMemory; nil, nil if nothing
// was ever kept. The caller holds r.mu.
func (r *remembered) openMemory() (*memories.Memory, error) {
	if r.open == nil {
		if !memories.Exists(r.source.core) {
			return nil, nil
		}
		m, err := memories.Open(r.source.core, memories.Options{})
		if err != nil {
			return nil, err
		}
		r.open = m
		r.close = time.AfterFunc(idleMemory, r.closeMemory)
	}
	r.close.Reset(idleMemory)
	return r.open, nil
}

// closeMemory closes the memory.
func (r *remembered) closeMemory() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil {
		_ = r.open.Close() // it has only read
		r.open = nil
	}
}

// overview returns the newest records, the namespaces and what is pinned. It reads them again only when a file has changed: the page asks
// every three seconds.
func (r *remembered) overview(ctx context.Context) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.openMemory()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return memoryOverview{Records: []shownRecord{}}, nil
	}
	now := r.fingerprint()
	if now == r.seen {
		return r.shown, nil
	}
	out, err := readOverview(ctx, m)
	if err == nil {
		r.seen, r.shown = now, out
	}
	return out, err
}

// readOverview returns the newest records, the namespaces and the pinned instructions. After an error it is incomplete.
func readOverview(ctx context.Context, m *memories.Memory) (memoryOverview, error) {
	out := memoryOverview{
		Namespaces: &dashboard.Table{Title: "Namespaces", Rows: [][]any{}, Columns: []dashboard.Column{
			{Name: "Namespace"}, {Name: "Records", Kind: dashboard.Count}, {Name: "Disk", Kind: dashboard.Bytes}, {Name: "Newest", Kind: dashboard.Time},
		}},
		Pins: &dashboard.Table{
			Title: "Pinned", Note: "Your standing instructions, as they are in force.", Rows: [][]any{}, Columns: []dashboard.Column{
				{Name: "Instruction", Kind: dashboard.Wide}, {Name: "Size", Kind: dashboard.Bytes}, {Name: "To unpin it", Kind: dashboard.Code},
			},
		},
	}
	page, err := m.List(ctx, memories.Query{Limit: maxRemembered})
	if err != nil {
		return out, err
	}
	out.Records, out.Total = shownAll(page.Records), page.Total
	stats, err := m.Stats(ctx)
	if err != nil {
		return out, err
	}
	for _, n := range stats.Namespaces {
		out.Namespaces.Add(n.Name, n.Records, int64(n.Bytes), n.Newest)
	}
	for _, p := range stats.Profile.Entries {
		out.Pins.Add(p.Text, int64(p.Bytes), "plimsoll memory pin --remove "+p.ID)
	}
	return out, nil
}

// fingerprint returns a text that changes with the names, sizes and times of the files of the memory and of the profile; "" if the state directory
// is not known.
func (r *remembered) fingerprint() string {
	dir, err := r.source.core.Dirs.State()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, root := range []string{memories.Dir, "profile"} {
		_ = filepath.WalkDir(filepath.Join(dir, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what is removed meanwhile is another state
			}
			if i, err := os.Lstat(path); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", path, i.Size(), i.ModTime().UnixNano())
			}
			return nil
		})
	}
	return b.String()
}

// memoryFound is a page of the records found.
type memoryFound struct {
	Records []shownRecord `json:"records"`
	Total   int           `json:"total"`
	Offset  int           `json:"offset"`
}

// memoryOrigin says where a record comes from, and what became of it.
type memoryOrigin struct {
	Record  memory.Record `json:"record"`
	From    []shownRecord `json:"from"`
	Gone    []string      `json:"gone"`
	Derived []shownRecord `json:"derived"`
	Uses    []memory.Use  `json:"uses"`
	Pinned  bool          `json:"pinned"`
	Forget  string        `json:"forget"` // the command that removes it
	// Not is the command that takes it back or lets it be given again, "" for a pin; Withheld says that it, or one about the same, is taken back.
	Not      string `json:"not,omitempty"`
	Withheld bool   `json:"withheld"`
}

// search returns the answer to a search (q, origin, kind, offset), or where a record comes from (why).
func (r *remembered) search(ctx context.Context, q url.Values) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.openMemory()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return memoryFound{Records: []shownRecord{}}, nil
	}
	if id := q.Get("why"); id != "" {
		w, err := m.Why(ctx, id)
		if err != nil {
			return nil, err
		}
		forget, not := "plimsoll memory forget "+w.Record.ID, "plimsoll memory not "+w.Record.ID
		if w.WithheldBy != "" {
			not = "plimsoll memory not " + w.WithheldBy + " --undo"
		}
		if w.Record.Kind == memory.KindPin {
			forget, not = "plimsoll memory pin --remove PIN-ID", ""
			pins, err := m.Pins()
			if err != nil {
				return nil, err
			}
			for _, p := range pins.Entries {
				if p.Text == w.Record.Text {
					forget = "plimsoll memory pin --remove " + p.ID
				}
			}
		}
		for i := range w.Uses {
			u := &w.Uses[i]
			u.Client, u.Run, u.Conversation, u.Words = printable.Name(u.Client), printable.Name(u.Run), printable.Name(u.Conversation), printable.Text(u.Words)
		}
		return memoryOrigin{readable(w.Record), shownAll(w.From), w.Gone, shownAll(w.Derived), w.Uses, w.Pinned, forget, not, w.WithheldBy != ""}, nil
	}
	offset, err := strconv.Atoi("0" + q.Get("offset"))
	if err != nil || offset > 1<<20 {
		return nil, fmt.Errorf("offset is %q; it is a number up to %d", limit.Short(q.Get("offset"), 20), 1<<20)
	}
	query := memories.Query{Text: q.Get("q"), Kind: q.Get("kind"), Origin: q.Get("origin"), Limit: maxRemembered, Offset: offset}
	out := memoryFound{Offset: offset}
	if strings.TrimSpace(query.Text) == "" { // by origin and kind alone
		page, err := m.List(ctx, query)
		if err != nil {
			return nil, err
		}
		out.Records, out.Total = shownAll(page.Records), page.Total
		return out, nil
	}
	found, err := m.Search(ctx, query)
	if err != nil {
		return nil, err
	}
	list := make([]memory.Record, len(found.Items))
	for i := range found.Items {
		list[i] = found.Items[i].Record
	}
	out.Records, out.Total = shownAll(list), found.Total
	return out, nil
}
