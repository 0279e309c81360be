package memory_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
)

// TestWithheld: what was taken back is known by the record, by what is nearly the same, and by its subject, in every process with the store;
// searches find and mark it, and it can be given again.
func TestWithheld(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	fact := func(value string) *memory.Fact {
		return &memory.Fact{Subject: "ledger", Attribute: "database", Value: value, Quote: value}
	}
	texts := map[string]memory.Record{
		"said":      {Text: "The ledger database is PostgreSQL 17 on the small host"},
		"again":     {Text: "the ledger's database: PostgreSQL 16, on the small host"},
		"changed":   {Text: "The ledger database is MySQL on the small host"},
		"longer":    {Text: "Somebody said that the database of the ledger is PostgreSQL on that small host, and that this is how it stays for a year or more"},
		"neighbour": {Text: "The ledger is printed on Mondays"},
		"elsewhere": {Text: "The small parser reads one line"},
		"fridays":   {Text: "We deploy on Fridays"},
		"tuesdays":  {Text: "We deploy on Tuesdays"},
		"keys":      {Text: "The deploy keys lie in the vault"},
		"fact":      {Kind: memory.KindFact, Text: "It is SQLite", Fact: fact("SQLite")},
		"other":     {Kind: memory.KindFact, Text: "We took BoltDB", Fact: fact("BoltDB")},
		"chinese":   {Text: "账本的数据库是 PostgreSQL"},
		"changed 2": {Text: "账本的数据库是 MySQL"},
	}
	ids := map[string]string{}
	for name, r := range texts {
		r.Origin = memory.OriginUser
		ids[name] = add(t, s, r).IDs[0]
	}
	check := func(want ...string) {
		t.Helper()
		for i, s := range []*memory.Store{s, other, open(t, dir)} {
			for name, id := range ids {
				r, err := s.Get(t.Context(), id, 0)
				if err != nil || r[0].Withheld != slices.Contains(want, name) {
					t.Errorf("store %d: %s is taken back: %t, %v; want only %q", i, name, err == nil && r[0].Withheld, err, want)
				}
			}
			list, err := s.Withheld()
			if err != nil || len(want) == 0 && len(list) > 0 {
				t.Errorf("%+v, %v", list, err)
			}
		}
	}
	check()
	take := func(name string) {
		t.Helper()
		if err := s.Withhold(t.Context(), ids[name]); err != nil {
			t.Fatal(err)
		}
	}
	take("said")
	check("said", "again", "changed", "longer")
	found, err := other.Search(t.Context(), memory.Query{Text: "ledger database PostgreSQL", AllScopes: true})
	if err != nil || len(found.Items) < 4 || !found.Items[0].Withheld {
		t.Errorf("%+v, %v", found.Items, err)
	}
	page, err := other.List(t.Context(), memory.Filter{IDs: []string{ids["changed"], ids["keys"]}, Oldest: true})
	if err != nil || len(page.Records) != 2 || page.Records[0].Withheld == page.Records[1].Withheld {
		t.Errorf("%+v, %v", page, err)
	}
	if err := other.GiveAgain(t.Context(), ids["said"]); err != nil {
		t.Fatal(err)
	}
	check()
	take("fridays")
	check("fridays", "tuesdays")
	take("fact")
	take("chinese")
	check("fridays", "tuesdays", "fact", "other", "chinese", "changed 2")
	if err := s.GiveAgain(t.Context(), ids["keys"]); !errors.Is(err, memory.ErrNotFound) {
		t.Error(err)
	}
	if err := s.GiveAgain(t.Context(), ids["fact"]); err != nil {
		t.Fatal(err)
	}
	take("fact") // and once more
	take("fact")
	for range 3 {
		if _, err := s.GC(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("fridays", "tuesdays", "fact", "other", "chinese", "changed 2")
	}
	if err := s.Withhold(t.Context(), "0123456789abcdefghjkmnpqrs"); !errors.Is(err, memory.ErrNotFound) {
		t.Error(err)
	}
	// What is forgotten leaves nothing of its subject behind.
	if _, err := s.Forget(t.Context(), memory.Filter{IDs: []string{ids["fridays"], ids["fact"], ids["chinese"]}}); err != nil {
		t.Fatal(err)
	}
	if files := filesWith(t, dir, `"t":"`); len(files) > 0 { // the terms of a subject
		t.Errorf("a subject stands in %q", files)
	}
	if _, err := s.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fridays", "fact", "chinese"} {
		if files := filesWith(t, dir, `{"id":"`+ids[name]+`","r":1`); len(files) > 1 {
			t.Errorf("%s stands in %q, beside its tombstone", name, files)
		}
		delete(ids, name)
	}
	check()
}

// TestANewerInstructionStands: a standing instruction that was given after another one about the same was taken back counts.
func TestANewerInstructionStands(t *testing.T) {
	s := open(t, t.TempDir())
	instruction := func(text string) memory.Record {
		return memory.Record{Kind: memory.KindFact, Namespace: "user", Origin: memory.OriginUser, Text: text, Fact: &memory.Fact{Subject: "user", Attribute: "language of answers", Value: text, Standing: true}}
	}
	german := add(t, s, instruction("Always answer in German"), instruction("Answer in French, always")).IDs
	if err := s.Withhold(t.Context(), german[0]); err != nil {
		t.Fatal(err)
	}
	later := instruction("From now on answer in English")
	marks, err := s.Withheld()
	if err != nil {
		t.Fatal(err)
	}
	later.Said = marks[0].At.Add(1e9)
	id := add(t, s, later).IDs[0]
	for id, want := range map[string]bool{german[0]: true, german[1]: true, id: false} {
		if r, err := s.Get(t.Context(), id, 0); err != nil || r[0].Withheld != want {
			t.Errorf("%q is taken back: %t, want %t; %v", r[0].Text, r[0].Withheld, want, err)
		}
	}
}

func TestWithheldIsBounded(t *testing.T) {
	s := open(t, t.TempDir())
	var batch []memory.Record
	for n := range memory.MaxWithheld + 1 {
		batch = append(batch, memory.Record{Text: fmt.Sprintf("word%c%c%c", 'a'+n%26, 'a'+n/26%26, 'a'+n/676)})
	}
	ids := add(t, s, batch...).IDs
	for i, id := range ids {
		if err := s.Withhold(t.Context(), id); (err != nil) != (i == memory.MaxWithheld) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

// TestWhatIsTakenBackOutlivesAnError: what was read before a segment that cannot be read counts afterwards as well.
func TestWhatIsTakenBackOutlivesAnError(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := add(t, s, memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Text: "The ledger runs on Postgres"}).IDs[0]
	if err := s.Withhold(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	head := `{"b":{"format":"plimsoll-memory","version":9,"namespace":"withheld"}}`
	line := fmt.Sprintf("%08x %08x %s\n", len(head), crc32.Checksum([]byte(head), crc32.MakeTable(crc32.Castagnoli)), head)
	newer := filepath.Join(dir, archive.FolderName("withheld"), "0fffffffffff-00000000.0.seg")
	if err := os.WriteFile(newer, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Withheld(); !errors.Is(err, archive.ErrNewer) {
		t.Fatal(err)
	}
	if err := os.Remove(newer); err != nil {
		t.Fatal(err)
	}
	if list, err := other.Withheld(); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
