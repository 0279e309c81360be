package memory_test

import (
	"bytes"
	"context"
	"encoding/base32"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/testing/embedserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// withVectors opens a store whose vectors come from a stand-in that hashes words.
func withVectors(t *testing.T, s *embedserver.Server, o memory.Options) *memory.Store {
	t.Helper()
	if o.Embed == nil {
		client, err := embed.NewClient(embed.ClientOptions{URL: s.URL, Model: embedserver.Model})
		if err != nil {
			t.Fatal(err)
		}
		o.Embed = client
	}
	store, err := memory.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func makeVectors(t *testing.T, s *memory.Store) memory.VectorsMade {
	t.Helper()
	made, err := s.MakeVectors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func ask(t *testing.T, s *memory.Store, text string) memory.Results {
	t.Helper()
	found, err := s.Search(t.Context(), memory.Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func texts(r memory.Results) (out []string) {
	for _, i := range r.Items {
		out = append(out, i.Text)
	}
	return out
}

// idsOnDisk are the records of which a file of vectors holds the id.
func idsOnDisk(t *testing.T, dir string, ids ...string) (found []string) {
	t.Helper()
	coding := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(e.Name(), "vectors") {
			return err
		}
		body, err := os.ReadFile(path)
		for _, text := range ids {
			id, bad := coding.DecodeString(text)
			if bad != nil {
				t.Fatal(bad)
			}
			if bytes.Contains(body, id) {
				found = append(found, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestMeaning: what is said in other words is found, beside what has the words, within the same filters.
func TestMeaning(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	s := withVectors(t, server, memory.Options{Dir: t.TempDir()})
	ids := add(t, s,
		memory.Record{Text: "My automobile is in the garage.", Origin: memory.OriginUser}, memory.Record{Text: "Lunch was good today.", Origin: memory.OriginUser},
		memory.Record{Text: "An automobile, says a page.", Origin: memory.OriginTool}, memory.Record{Text: "The garage needs paint.", Origin: memory.OriginUser, Scope: "aa"},
	).IDs
	if found := ask(t, s, "which car"); len(found.Items) != 0 || found.WordsOnly != "" || len(server.Texts()) != 0 {
		t.Fatalf("before there are vectors: %q, %q, %d texts sent", texts(found), found.WordsOnly, len(server.Texts()))
	}
	if made := makeVectors(t, s); made.Made != 4 || made.Missing != 0 {
		t.Fatalf("%+v", made)
	}
	found := ask(t, s, "which car")
	if len(found.Items) < 2 || found.Items[0].ID != ids[0] && found.Items[0].ID != ids[2] || found.Items[1].ID != ids[0] && found.Items[1].ID != ids[2] {
		t.Errorf("found %q", texts(found))
	}
	if slices.ContainsFunc(found.Items, func(i memory.Item) bool { return i.Scope != "" }) {
		t.Errorf("what is of another scope: %q", texts(found))
	}
	mine, err := s.Search(t.Context(), memory.Query{Text: "which car", Origins: []memory.Origin{memory.OriginUser}, Limit: 1})
	if err != nil || len(mine.Items) != 1 || mine.Items[0].ID != ids[0] {
		t.Errorf("of the user: %q, %v", texts(mine), err)
	}
	next, err := s.Search(t.Context(), memory.Query{Text: "which car", Limit: 1, Offset: 1})
	if err != nil || len(next.Items) != 1 || next.Items[0].ID != found.Items[1].ID || next.Total != found.Total {
		t.Errorf("the second page: %q of %d, %v", texts(next), next.Total, err)
	}
	asked := slices.Index(server.Texts(), "which car")
	if n := len(server.Texts()); asked != 4 || n != 5 {
		t.Errorf("%q were sent: each record once, and a question once", server.Texts())
	}
	// A note that was changed gets a vector of its new words.
	note := add(t, s, memory.Record{Kind: memory.KindNote, Text: "The film begins at eight.", Origin: memory.OriginUser}).IDs[0]
	makeVectors(t, s)
	if err := s.Update(t.Context(), memory.Record{ID: note, Kind: memory.KindNote, Namespace: "project/x", Text: "The physician comes at eight.", Origin: memory.OriginUser}); err != nil {
		t.Fatal(err)
	}
	if made := makeVectors(t, s); made.Made != 1 {
		t.Errorf("%+v after an update", made)
	}
	if found := ask(t, s, "doctor"); len(found.Items) == 0 || found.Items[0].ID != note {
		t.Errorf("found %q", texts(found))
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Namespaces[0].Vectors != 5 || stats.Namespaces[0].VectorModel != embedserver.Model || stats.Namespaces[0].VectorBytes == 0 || stats.Embedding.Made != 6 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestWithoutTheService: a search is what it is without vectors, says so in one line, and one event tells of it.
func TestWithoutTheService(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	dir := t.TempDir()
	j := journal.New(journal.Options{MaxRecords: 100})
	s := withVectors(t, server, memory.Options{Dir: dir, Journal: j})
	for i := range 40 {
		add(t, s, memory.Record{Text: fmt.Sprintf("The car number %d is in garage %d.", i, i%7), Source: memory.Source{Conversation: "c", Turn: i + 1}})
	}
	makeVectors(t, s)
	server.Fail(http.StatusServiceUnavailable)
	plain := open(t, dir)
	for i := range 6 {
		question := fmt.Sprintf("automobile in garage %d", i)
		got, want := ask(t, s, question), ask(t, plain, question)
		if !slices.Equal(texts(got), texts(want)) || got.Total != want.Total || len(got.Items) == 0 {
			t.Errorf("%q instead of %q", texts(got), texts(want))
		}
		if !strings.HasPrefix(got.WordsOnly, "found by words only: ") || strings.Contains(got.WordsOnly, "\n") || want.WordsOnly != "" {
			t.Errorf("it says %q", got.WordsOnly)
		}
	}
	if n := len(server.Texts()); n != 40+3 {
		t.Errorf("%d texts were sent: a service that fails is left alone", n)
	}
	failed := 0
	for r := range j.Since(0) {
		if e, ok := r.Event.(journal.MemoryVectorsFailed); ok {
			failed++
			if e.For != "question" || !strings.Contains(e.Error, "503") {
				t.Errorf("%+v", e)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d events of failures", failed)
	}
}

// TestForgottenVectors: they leave the disk, in a process that makes none too, and do not come back from a request that was under way.
func TestForgottenVectors(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	dir := t.TempDir()
	s := withVectors(t, server, memory.Options{Dir: dir})
	ids := add(t, s, memory.Record{Text: "the launch code is 4711"}, memory.Record{Text: "tea is at four"}).IDs
	makeVectors(t, s)
	if found := idsOnDisk(t, dir, ids...); len(found) != 2 {
		t.Fatalf("%d of 2 have a vector", len(found))
	}
	if _, err := open(t, dir).Forget(t.Context(), memory.Filter{IDs: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	if found := idsOnDisk(t, dir, ids...); !slices.Equal(found, ids[1:]) {
		t.Errorf("vectors of %q are left", found)
	}
	late := add(t, s, memory.Record{Text: "the other code is 0815"}).IDs[0]
	arrived, release := server.Hold()
	var work sync.WaitGroup
	work.Go(func() { _, _ = s.MakeVectors(t.Context()) })
	<-arrived
	if _, err := open(t, dir).Forget(t.Context(), memory.Filter{IDs: []string{late}}); err != nil {
		t.Error(err)
	}
	release()
	work.Wait()
	if found := idsOnDisk(t, dir, late); len(found) != 0 {
		t.Error("the vector of what was forgotten meanwhile is on the disk")
	}
	if err := s.DropVectors(t.Context()); err != nil || len(idsOnDisk(t, dir, ids...)) != 0 {
		t.Errorf("vectors are left: %v", err)
	}
}

// TestVectorBounds: the vectors of evicted records go with them, and those of old records when there is no room for all.
func TestVectorBounds(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	server.Dimensions(1024)
	dir := t.TempDir()
	const most = 256 * limit.KiB
	j := journal.New(journal.Options{MaxRecords: 100})
	s := withVectors(t, server, memory.Options{Dir: dir, MaxVectors: most, Journal: j, MaxRecords: 1000})
	var ids []string
	more := func(n int) {
		for i := range n {
			ids = append(ids, add(t, s, memory.Record{Text: fmt.Sprintf("passage %d of %d: the car is there", len(ids), i)}).IDs...)
		}
	}
	size := func() (n int64) {
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return int64(stats.Namespaces[0].VectorBytes)
	}
	more(300)
	makeVectors(t, s)
	first := len(idsOnDisk(t, dir, ids...))
	if size() > int64(most)/2 || first < 100 || len(idsOnDisk(t, dir, ids[len(ids)-100:]...)) != 100 {
		t.Fatalf("%d vectors in %d bytes, of the newest 100 %d", first, size(), len(idsOnDisk(t, dir, ids[len(ids)-100:]...)))
	}
	sent := len(server.Texts())
	if made := makeVectors(t, s); made.Made != 0 || len(server.Texts()) != sent {
		t.Errorf("%+v when there is no room: texts are paid for again", made)
	}
	more(40)
	makeVectors(t, s)
	if size() > int64(most)/2 || len(idsOnDisk(t, dir, ids[len(ids)-60:]...)) != 60 {
		t.Errorf("%d bytes, of the newest 60 %d have vectors", size(), len(idsOnDisk(t, dir, ids[len(ids)-60:]...)))
	}
	full := 0
	for r := range j.Since(0) {
		if _, ok := r.Event.(journal.MemoryVectorsFull); ok {
			full++
		}
	}
	if full != 1 {
		t.Errorf("%d events of the bound", full)
	}
	// Records that the store evicts take their vectors with them.
	small := withVectors(t, server, memory.Options{Dir: t.TempDir(), MaxRecords: 16})
	for i := range 16 {
		add(t, small, memory.Record{Text: fmt.Sprintf("record %d", i)})
	}
	makeVectors(t, small)
	for i := range 40 {
		add(t, small, memory.Record{Text: fmt.Sprintf("another record %d", i)})
	}
	stats, err := small.Stats(t.Context())
	if err != nil || stats.Namespaces[0].Vectors > stats.Namespaces[0].Records || stats.Namespaces[0].Vectors > 2 {
		t.Errorf("%d vectors of %d records, %v", stats.Namespaces[0].Vectors, stats.Namespaces[0].Records, err)
	}
}

// TestOtherVectors: with another model, or when the service changes, all are made anew.
func TestOtherVectors(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	dir := t.TempDir()
	s := withVectors(t, server, memory.Options{Dir: dir})
	for i := range 70 {
		add(t, s, memory.Record{Text: fmt.Sprintf("the automobile %d", i)})
	}
	if made := makeVectors(t, s); made.Made != 70 {
		t.Fatalf("%+v", made)
	}
	other, err := embed.NewClient(embed.ClientOptions{URL: server.URL, Model: "another"})
	if err != nil {
		t.Fatal(err)
	}
	b := withVectors(t, server, memory.Options{Dir: dir, Embed: other})
	if found := ask(t, b, "car"); len(found.Items) != 0 {
		t.Errorf("by vectors of another model: %q", texts(found))
	}
	if made := makeVectors(t, b); made.Made != 70 || made.Missing != 0 {
		t.Errorf("%+v with another model", made)
	}
	server.Dimensions(96)
	add(t, b, memory.Record{Text: "one more automobile"})
	if made := makeVectors(t, b); made.Made != 71 || made.Missing != 0 {
		t.Errorf("%+v with more dimensions", made)
	}
	if found := ask(t, b, "a car"); len(found.Items) != memory.DefaultLimit {
		t.Errorf("found %q", texts(found))
	}
}

// TestManyMakeVectors: each text is sent once, whoever makes the vectors, and a text that the service refuses is not in the way of others.
func TestManyMakeVectors(t *testing.T) {
	t.Parallel()
	server := embedserver.New(t)
	dir := t.TempDir()
	first := withVectors(t, server, memory.Options{Dir: dir, EmbedEvery: time.Millisecond})
	for i := range 200 {
		add(t, first, memory.Record{Text: fmt.Sprintf("number %d", i)})
	}
	ask(t, first, "number") // what is searched gets vectors, in the background
	var work sync.WaitGroup
	for range 3 {
		s := withVectors(t, server, memory.Options{Dir: dir})
		work.Go(func() {
			if _, err := s.MakeVectors(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	made := 0
	wait.Until(t, "200 records have vectors", func() bool {
		stats, err := first.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		made = stats.Namespaces[0].Vectors
		return made == 200
	}, func() string { return fmt.Sprint(made, " have") })
	if err := first.Close(); err != nil { // and nothing goes on
		t.Error(err)
	}
	records := slices.DeleteFunc(server.Texts(), func(text string) bool { return text == "number" }) // that is the question
	if len(records) != 200 {
		t.Errorf("%d texts were sent for 200 records", len(records))
	}
}

type readCloser struct{ *bytes.Buffer }

func (readCloser) Close() error { return nil }

func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	var asked int
	stand := embedserver.New(t)
	picky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked++
		if strings.Contains(body.String(), "unspeakable") {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		again := r.Clone(context.Background())
		again.Body = readCloser{&body}
		stand.ServeHTTP(w, again)
	})
	server := httptest.NewServer(picky)
	t.Cleanup(server.Close)
	client, err := embed.NewClient(embed.ClientOptions{URL: server.URL + "/v1", Model: embedserver.Model})
	if err != nil {
		t.Fatal(err)
	}
	s := withVectors(t, nil, memory.Options{Dir: t.TempDir(), Embed: client})
	add(t, s, memory.Record{Text: "one"}, memory.Record{Text: "an unspeakable thing"}, memory.Record{Text: "three"})
	if made := makeVectors(t, s); made.Made != 2 || made.Refused != 1 || made.Missing != 0 {
		t.Errorf("%+v", made)
	}
	before := asked
	if made := makeVectors(t, s); made.Made+made.Refused != 0 || asked != before {
		t.Errorf("it is asked again: %+v", made)
	}
}
