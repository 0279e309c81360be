package memories

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// ImportFormats lists the formats that [Memory.Import] reads. "auto" looks at the text.
var ImportFormats = []string{"auto", "jsonl", "server-memory", "mem0", "markdown"}

// The bounds of an import.
const (
	MaxImport     = 256 * limit.MiB
	maxImportLine = 1 << 20
	// maxImported bounds the texts of one import: of small ones a file has a hundred times its size in memory.
	maxImported = 400_000
)

// ImportOptions configure [Memory.Import].
type ImportOptions struct {
	Format string
	// Name of the file, for the source of what is in it.
	Name string
	// Namespace takes the records that name none; "" is the user's, "project" that of the working directory.
	Namespace string
	// Mine means that a person vouches for the file: its texts are the user's own. Without it they are an agent's at best.
	Mine bool
	// DryRun adds nothing.
	DryRun bool
}

// Imported is the outcome of an import.
type Imported struct {
	Format  string `json:"format"`
	Read    int    `json:"read"`
	New     int    `json:"new"`
	Merged  int    `json:"merged"`
	Refused int    `json:"refused"`  // forgotten once
	Skipped int    `json:"skipped"`  // empty, or not to be kept
	LeftOut int    `json:"left_out"` // older than what the bounds have room for
	// Stay is the number of records of the file that the memory has now; with DryRun, that it would have.
	Stay   int  `json:"stay"`
	DryRun bool `json:"dry_run"`
}

// Import adds the content of a file of another program. What was said by the user or vouched for is never driven out by it: of more than the
// bounds have room for, the newest stay. Inside a run Mine is refused with [ErrInRun]. A file of more than [MaxImport] bytes is an error. If
// adding fails, the records before stay.
func (m *Memory) Import(ctx context.Context, from io.Reader, o ImportOptions) (Imported, error) {
	if err := m.requirePerson(); o.Mine && err != nil {
		return Imported{}, err
	}
	text, err := io.ReadAll(io.LimitReader(from, int64(MaxImport)+1))
	if err != nil {
		return Imported{}, err
	}
	if len(text) > int(MaxImport) {
		return Imported{}, fmt.Errorf("%s is larger than %s: split it", o.Name, MaxImport.Human())
	}
	switch o.Namespace {
	case "":
		o.Namespace = UserNamespace
	case "project":
		o.Namespace = ProjectNamespace("")
	}
	records, out, err := parseImport(text, o)
	if err != nil {
		return out, fmt.Errorf("%s: %w", o.Name, err)
	}
	out.DryRun = o.DryRun
	// What has no date is of now. The oldest goes first, so that it has the older id, by which the bounds go.
	now := time.Now()
	sorting.StableBy(records, func(a, b memory.Record) int { return timeSaid(a, now).Compare(timeSaid(b, now)) })
	// All of it is looked at before any of it is kept: a mistake in the middle leaves nothing behind.
	seen, err := m.Store.WouldAdd(ctx, records)
	if err != nil {
		return out, fmt.Errorf("%s: %w", o.Name, err)
	}
	out.LeftOut, out.Refused = seen.LeftOut, seen.Refused
	if o.DryRun {
		out.New, out.Merged, out.Stay = seen.New, seen.Merged, seen.Passages
		return out, nil
	}
	ids := map[string]bool{}
	for records = seen.Fit; len(records) > 0; {
		n := min(len(records), 500)
		added, err := m.Store.Add(ctx, records[:n]...)
		if err != nil {
			return out, err
		}
		out.New, out.Merged, out.Refused = out.New+added.New, out.Merged+added.Merged, out.Refused+added.Refused
		for _, id := range added.IDs {
			ids[id] = true
		}
		records = records[n:]
	}
	err = m.eachRecord(ctx, memory.Filter{AllScopes: true}, func(r memory.Record) error {
		if ids[r.ID] {
			out.Stay++
		}
		return nil
	})
	return out, err
}

// timeSaid returns when a record was said, or now if that is not known.
func timeSaid(r memory.Record, now time.Time) time.Time {
	if r.Said.IsZero() {
		return now
	}
	return r.Said
}

// parseImport reads a file into records that can be added. A file without anything to add or skip is an error.
func parseImport(text []byte, o ImportOptions) ([]memory.Record, Imported, error) {
	format := o.Format
	if format == "" || format == "auto" {
		format = guessFormat(text)
	}
	out := Imported{Format: format}
	i := importing{o: o, out: &out}
	var err error
	switch format {
	case "jsonl":
		err = i.eachLine(text, i.addExported)
	case "server-memory":
		err = i.eachLine(text, i.addGraphLine)
	case "mem0":
		err = i.addMem0(text)
	case "markdown":
		err = i.addMarkdown(text)
	default:
		err = fmt.Errorf("--format %s: there is no such format; write one of: %s", limit.Short(format, 40), strings.Join(ImportFormats, ", "))
	}
	if err == nil && len(i.records) > maxImported {
		err = fmt.Errorf("it has more than %d texts: split it", maxImported)
	}
	if err == nil && len(i.records)+out.Skipped == 0 {
		err = fmt.Errorf("nothing in it is %s; --format says what it is", format)
	}
	return i.records, out, err
}

// guessFormat returns the format of an import: from the first line of JSON Lines, from the form of a JSON document, else Markdown.
func guessFormat(text []byte) string {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var line struct {
		Type string `json:"type"`
		Kind string `json:"kind"`
	}
	if json.Unmarshal(first, &line) == nil {
		switch {
		case line.Type == "entity" || line.Type == "relation":
			return "server-memory"
		case line.Kind != "":
			return "jsonl"
		}
	}
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text) {
		return "mem0"
	}
	return "markdown"
}

// importing collects records while a file is read.
type importing struct {
	o       ImportOptions
	out     *Imported
	records []memory.Record
}

// add collects one text, with the defaults for all fields of r that are not set. Long texts are cut into pieces at paragraphs or lines; an
// empty one counts as skipped.
func (i *importing) add(text string, r memory.Record) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	i.out.Read++
	if len(i.records) > maxImported {
		return // it is refused
	}
	if text == "" {
		i.out.Skipped++
		return
	}
	r.Kind = cmp.Or(r.Kind, memory.KindNote)
	top := memory.OriginAgent
	if i.o.Mine {
		top = memory.OriginUser
	}
	r.Origin = cmp.Or(r.Origin, top)
	r.Origin = memory.Lowest(r.Origin, top)
	r.Namespace = cmp.Or(r.Namespace, i.o.Namespace)
	r.Source.Client = cmp.Or(r.Source.Client, "import")
	if r.Source.File == "" {
		r.Source.File = limit.Clip(i.o.Name, 200)
	}
	most := memory.MaxNote
	if r.Kind == memory.KindEpisode || r.Kind == memory.KindFact {
		most = memory.MaxEpisode
	}
	for _, piece := range splitText(text, most) {
		r.Text = piece
		i.records = append(i.records, r)
	}
}

// splitText cuts a text into pieces of at most size bytes: at the last paragraph, line or blank in the second half of each, else between two
// characters.
func splitText(text string, size int) (out []string) {
	for len(text) > size {
		cut := limit.Boundary(text, size)
		for _, at := range []string{"\n\n", "\n", " "} {
			if k := strings.LastIndex(text[:cut], at); k > size/2 {
				cut = k
				break
			}
		}
		out = append(out, strings.TrimSpace(text[:cut]))
		text = strings.TrimSpace(text[cut:])
	}
	return append(out, text)
}

// eachLine calls each for every line of JSON Lines that is not empty. An error is wrapped with the number and the beginning of the line. A
// line longer than maxImportLine is an error too.
func (i *importing) eachLine(text []byte, each func(line []byte) error) error {
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	lines.Buffer(nil, maxImportLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := each(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %q: %w", n, limit.Short(string(lines.Bytes()), 60), err)
		}
	}
	return lines.Err()
}

// addExported adds a line of this program's own export, under a new id. A pin becomes a note, because only a person pins.
func (i *importing) addExported(line []byte) error {
	var r memory.Record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.Kind == memory.KindPin { // pinning is for a person, in the profile
		r.Kind = memory.KindNote
	}
	// Ids are given anew, so what it is derived from cannot be named.
	r.ID, r.From, r.Quarantined = "", nil, false
	if r.Kind == memory.KindFact && r.Fact == nil {
		return errors.New("a fact without its statement")
	}
	if r.Fact != nil && r.Kind != memory.KindFact {
		r.Fact = nil
	}
	i.add(r.Text, r)
	return nil
}

// addGraphLine adds a line of the official memory server, which is an entity with observations or a relation.
func (i *importing) addGraphLine(line []byte) error {
	var l struct {
		Type         string   `json:"type"`
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
		From         string   `json:"from"`
		To           string   `json:"to"`
		RelationType string   `json:"relationType"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	switch l.Type {
	case "entity":
		about := l.Name
		if l.EntityType != "" {
			about += " (" + l.EntityType + ")"
		}
		for _, o := range l.Observations {
			i.add(about+": "+o, memory.Record{})
		}
		if len(l.Observations) == 0 {
			i.add(about, memory.Record{})
		}
	case "relation":
		i.add(strings.Join(strings.Fields(l.From+" "+strings.ReplaceAll(l.RelationType, "_", " ")+" "+l.To), " "), memory.Record{})
	default:
		return fmt.Errorf("its type is %q; it is entity or relation", limit.Short(l.Type, 40))
	}
	return nil
}

// addMem0 adds an export of mem0: a list of memories, by itself or under results or memories.
func (i *importing) addMem0(text []byte) error {
	type item struct {
		Memory   string `json:"memory"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		Created  string `json:"created_at"`
		Updated  string `json:"updated_at"`
		User     string `json:"user_id"`
		Agent    string `json:"agent_id"`
		Run      string `json:"run_id"`
		Relation string `json:"relationship"`
	}
	var list []item
	if err := json.Unmarshal(text, &list); err != nil {
		var object struct {
			Results  []item `json:"results"`
			Memories []item `json:"memories"`
		}
		if err := json.Unmarshal(text, &object); err != nil {
			return fmt.Errorf("it is no export of mem0: %w", err)
		}
		list = append(object.Results, object.Memories...)
	}
	for _, m := range list {
		words := m.Memory
		for _, other := range []string{m.Text, m.Data} {
			words = cmp.Or(words, other)
		}
		r := memory.Record{Source: memory.Source{Client: "mem0", Conversation: limit.Clip(m.Run, 200), Speaker: limit.Clip(m.User+m.Agent, 200)}}
		for _, at := range []string{m.Updated, m.Created} {
			if t, ok := parseTime(at); ok {
				r.Said = t
				break
			}
		}
		i.add(words, r)
	}
	return nil
}

// parseTime reads a time of an export: with a time of day and zone, without a zone (UTC), or a day alone. It returns false for any other text.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// addMarkdown adds each item of a list, and each paragraph, as a note, with the heading above in front of its words.
func (i *importing) addMarkdown(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is no text in UTF-8")
	}
	heading := ""
	var block []string
	fenced := false
	flush := func() {
		if words := strings.TrimSpace(strings.Join(block, "\n")); words != "" {
			if isListItem(words) {
				words = words[2:]
			}
			if heading != "" {
				words = heading + ": " + words
			}
			i.add(words, memory.Record{})
		}
		block = nil
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		switch {
		case fenced:
			block = append(block, line)
		case trimmed == "":
			flush()
		case strings.HasPrefix(line, "#"):
			flush()
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		default:
			if isListItem(line) {
				flush()
			}
			block = append(block, line)
		}
	}
	flush()
	return nil
}

// isListItem reports whether a line begins with the mark of an item of a list.
func isListItem(line string) bool {
	return len(line) > 1 && strings.ContainsRune("-*+", rune(line[0])) && line[1] == ' '
}
