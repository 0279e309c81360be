package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/limit"
)

// oneLine returns the beginning of a text in one line.
func oneLine(text string, runes int) string {
	return limit.ShortRunes(strings.Join(strings.Fields(text), " "), runes)
}

// memoryHead returns the kind of a record and the place where it stood.
func memoryHead(r memories.Record) string {
	parts := []string{string(r.Kind) + " " + r.Origin.Phrase(), r.Said.Local().Format("2006-01-02 15:04"), placeWords(r.Namespace)}
	for _, p := range []string{r.Source.Client, r.Source.Speaker, r.Source.Tool, r.Source.File} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if r.Source.Conversation != "" {
		parts = append(parts, "conversation "+limit.ShortRunes(r.Source.Conversation, 24))
	}
	if r.Count > 1 {
		parts = append(parts, fmt.Sprintf("%d times", r.Count))
	}
	if r.Quarantined {
		parts = append(parts, "quarantined")
	}
	if r.Standing() {
		parts = append(parts, "a standing instruction")
	}
	if r.Withheld {
		parts = append(parts, "taken back")
	}
	return strings.Join(parts, " · ")
}

// placeWords says for what a namespace is kept: "user" is every project's.
func placeWords(namespace string) string {
	if namespace == "user" {
		return "every project"
	}
	kind, name, _ := strings.Cut(namespace, "/")
	return strings.TrimSpace("the " + kind + " " + name)
}

// printMemory writes a record as two lines.
func printMemory(out io.Writer, r memories.Record) {
	fmt.Fprintf(out, "%s  %s\n    %s\n", r.ID, memoryHead(r), oneLine(r.Text, 160))
}

// printMemoryWhole writes a record with all its words, indented.
func printMemoryWhole(out io.Writer, r memories.Record) {
	fmt.Fprintf(out, "%s  %s\n", r.ID, memoryHead(r))
	if f := r.Fact; f != nil {
		fmt.Fprintf(out, "    %s\n", factLine(r))
	}
	for line := range strings.SplitSeq(strings.TrimRight(r.Text, "\n"), "\n") {
		fmt.Fprintf(out, "    %s\n", line)
	}
}

// factLine returns a fact with the time in which it counts and the words that say so.
func factLine(r memories.Record) string {
	f := r.Fact
	line := fmt.Sprintf("%s · %s = %s", f.Subject, f.Attribute, f.Value)
	if !f.ValidFrom.IsZero() {
		line += " · since " + f.ValidFrom.Local().Format(time.DateOnly)
	}
	if !f.ValidUntil.IsZero() {
		line += " · until " + f.ValidUntil.Local().Format(time.DateOnly)
	}
	return line + fmt.Sprintf(" · %q", oneLine(f.Quote, 100))
}

// printWhy writes a record with all its words, what it comes from and what is derived from it, who used it, and whether it is pinned or
// taken back.
func printWhy(out io.Writer, w memories.Why) error {
	printMemoryWhole(out, w.Record)
	fmt.Fprintf(out, "recorded  %s\n", w.Record.Recorded.Local().Format("2006-01-02 15:04:05"))
	if r := w.Record.Source.Run; r != "" {
		fmt.Fprintf(out, "run       %s (plimsoll runs %s)\n", r, r)
	}
	for _, r := range w.From {
		fmt.Fprintf(out, "from      %s  %s: %s\n", r.ID, memoryHead(r), oneLine(r.Text, 80))
	}
	for _, id := range w.Gone {
		fmt.Fprintf(out, "from      %s, which is there no longer\n", id)
	}
	for _, r := range w.Derived {
		fmt.Fprintf(out, "derived   %s  %s: %s\n", r.ID, memoryHead(r), oneLine(r.Text, 80))
	}
	used := "never"
	if w.Recalled != nil {
		used = w.Recalled.Local().Format("2006-01-02 15:04:05")
	}
	pinned := "no"
	if w.Pinned {
		pinned = "yes: it is put before models where the memory is on"
	}
	fmt.Fprintf(out, "last used %s\n", used)
	for _, u := range w.Uses {
		fmt.Fprintf(out, "used      %s\n", useLine(u))
	}
	if w.WithheldBy != "" {
		fmt.Fprintf(out, "given     not any more: plimsoll memory not %s --undo\n", w.WithheldBy)
	}
	_, err := fmt.Fprintf(out, "pinned    %s\n", pinned)
	return err
}

// useLine returns the time, way and recipient of a use of a record.
func useLine(u memories.Use) string {
	how := "added to a prompt"
	if u.How == "search" {
		how = "found by a search"
	}
	parts := []string{u.At.Local().Format("2006-01-02 15:04:05"), how}
	if u.Client != "" {
		parts = append(parts, u.Client)
	}
	if u.Conversation != "" {
		parts = append(parts, "conversation "+limit.ShortRunes(u.Conversation, 24))
	}
	if u.Run != "" {
		parts = append(parts, "run "+u.Run)
	}
	if u.Words != "" {
		parts = append(parts, "by the words: "+u.Words)
	}
	return strings.Join(parts, " · ")
}

// printPins lists the entries of the profile, the room they take, and whether an edit of its file is not in force yet.
func printPins(out io.Writer, p memories.Pins) error {
	if len(p.Entries) == 0 {
		fmt.Fprintln(out, `nothing is pinned; plimsoll memory pin "Answer in English" pins a standing instruction`)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range p.Entries {
		fmt.Fprintf(w, "%s\t%d bytes\t%s\n", e.ID, e.Bytes, oneLine(e.Text, 100))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(p.Entries) > 0 {
		fmt.Fprintf(out, "%d of %d bytes\n", p.Bytes, p.Max)
	}
	switch {
	case p.Problem != "":
		fmt.Fprintf(out, "%s was edited and is not in force: %s\n", p.Path, p.Problem)
	case p.Pending:
		fmt.Fprintf(out, "%s was edited and is not in force; plimsoll memory pin --confirm shows the edit and puts it in force\n", p.Path)
	}
	return nil
}

// printMemoryStats writes a row for each namespace, and lines about the disk, the vectors, the notes, the profile and the facts.
func printMemoryStats(out io.Writer, s memories.Stats) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tRECORDS\tEPISODES\tFACTS\tNOTES\tPINS\tDISK\tNEWEST")
	for _, n := range s.Namespaces {
		newest := "-"
		if !n.Newest.IsZero() {
			newest = n.Newest.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", n.Name, n.Records, n.Kinds["episode"], n.Kinds["fact"], n.Kinds["note"], n.Kinds["pin"], n.Bytes.Human(), newest)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "disk     %s of %s in %s\n", s.Bytes.Human(), limit.Bytes(s.MaxBytes).Human(), s.Dir)
	if v := s.Vectors; v.Service != "" || v.Vectors > 0 {
		by := "no service makes more (embed_url of [memory] is not set)"
		if v.Service != "" {
			by = fmt.Sprintf("by %s at %s", v.Model, v.Service)
		}
		fmt.Fprintf(out, "vectors  %d, %s of %s, %s\n", v.Vectors, limit.Bytes(v.Bytes).Human(), limit.Bytes(v.MaxBytes).Human(), app.Printable(by))
	}
	fmt.Fprintf(out, "files    %s of agents, %s\n", limit.Count(s.Notes.Files, "note"), limit.Bytes(s.Notes.Bytes).Human())
	fmt.Fprintf(out, "profile  %d of %d bytes in %s\n", s.Profile.Bytes, s.Profile.Max, limit.Count(len(s.Profile.Entries), "entry"))
	f := s.Facts
	on := map[bool]string{true: "drawn by serve in the background", false: "drawn by memory learn only"}[f.On]
	fmt.Fprintf(out, "facts    %s; %d of %d wait, %d were read, %d of %d tokens of the day are spent\n", on, f.Waiting, f.MaxWaiting, f.Read, f.SpentToday, f.TokensPerDay)
	if f.Problem != "" {
		fmt.Fprintf(out, "         %s\n", app.Printable(f.Problem))
	}
	_, err := fmt.Fprintf(out, "forgotten %s, of which an id and a digest are kept\n", limit.Count(s.Forgotten, "record"))
	return err
}
