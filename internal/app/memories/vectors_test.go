package memories_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/embedserver"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// TestSearchByMeaning: with a service in the user's file a command finds what was said in other words; without it, by words, with one line; and what
// `plimsoll run` opens sends nothing.
func TestSearchByMeaning(t *testing.T) {
	server := embedserver.New(t)
	dir := t.TempDir()
	user := filepath.Join(dir, "config.toml")
	write := func(text string) {
		t.Helper()
		testfile.Write(t, user, text)
	}
	var warned []string
	load := func() *core.Core {
		t.Helper()
		c, err := core.New(core.Options{
			Environ: []string{"HOME=" + dir, "PLIMSOLL_CONFIG=" + user, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, "state")}, Dir: dir,
			Warn: func(text string) { warned = append(warned, text) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	open := func(v memories.Vectors) *memories.Memory {
		t.Helper()
		m, err := memories.Open(load(), memories.Options{Vectors: v})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	found := func(m *memories.Memory) (out []string) {
		t.Helper()
		warned = nil
		got, err := m.Search(t.Context(), memories.Query{Text: "car"})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range got.Items {
			out = append(out, i.Text)
		}
		return out
	}
	write("[memory]\nembed_url = \"" + server.URL + "\"\nembed_model = \"" + embedserver.Model + "\"\nembed_key = \"TEST_EMBED_KEY\"\n")
	t.Setenv("TEST_EMBED_KEY", "sk-embed")
	plain := open(memories.NoVectors)
	if _, err := plain.Add(t.Context(), "", "My automobile is blue."); err != nil {
		t.Fatal(err)
	}
	options, err := memories.StoreOptions(load(), nil) // what runs and daemons keep conversations with
	if err != nil || options.Embed != nil {
		t.Fatalf("a run would send texts: %v", err)
	}
	if got := found(plain); len(got) != 0 || len(server.Texts()) != 0 {
		t.Errorf("by words only: %q, sent %q", got, server.Texts())
	}
	m := open(memories.VectorsOnSearch)
	if got := found(m); len(got) != 1 || len(warned) != 0 {
		t.Errorf("by meaning: %q, warned %q", got, warned)
	}
	for _, key := range server.Keys() {
		if key != "Bearer sk-embed" {
			t.Errorf("sent the key %q", key)
		}
	}
	stats, err := m.Stats(t.Context())
	if err != nil || stats.Vectors.Vectors != 1 || stats.Vectors.Service != server.URL || stats.Vectors.Bytes == 0 {
		t.Errorf("%+v, %v", stats.Vectors, err)
	}
	// A server makes them by itself, once something was searched for.
	served := open(memories.VectorsInBackground)
	if _, err := served.Add(t.Context(), "", "The physician came at noon."); err != nil {
		t.Fatal(err)
	}
	found(served)
	wait.Until(t, "both have vectors, made in the background", func() bool {
		stats, err := served.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats.Vectors.Vectors == 2
	})
	server.Fail(http.StatusBadGateway)
	if got := found(open(memories.VectorsOnSearch)); len(got) != 0 || len(warned) != 1 || !strings.HasPrefix(warned[0], "found by words only: ") {
		t.Errorf("without the service: %q, warned %q", got, warned)
	}
	// A service that cannot be used is said, and is in nobody's way.
	warned = nil
	t.Setenv("TEST_EMBED_KEY", "")
	m = open(memories.VectorsOnSearch)
	if len(warned) != 1 || !strings.Contains(warned[0], "TEST_EMBED_KEY") {
		t.Errorf("warned %q", warned)
	}
	if got := found(m); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	// Who names no service any more has no vectors left after the next gc.
	write("")
	m = open(memories.VectorsOnSearch)
	if _, err := m.GC(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if stats, err := m.Stats(t.Context()); err != nil || stats.Vectors.Vectors != 0 || stats.Vectors.Bytes != 0 {
		t.Errorf("%+v, %v", stats.Vectors, err)
	}
}

// TestAskService: what doctor says of the service, with the address and the reason.
func TestAskService(t *testing.T) {
	server := embedserver.New(t)
	m := config.MemorySettings{State: config.MemoryOn}
	asked := func(want ...string) {
		t.Helper()
		got := memories.AskService(t.Context(), m)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("it says %q, without %q", got, w)
			}
		}
		if len(want) == 0 && got != "" {
			t.Errorf("it says %q", got)
		}
	}
	asked()
	m.EmbedURL = server.URL
	asked("by words only", "embed_model")
	m.EmbedModel = embedserver.Model
	asked("by meaning too", embedserver.Model, "dimensions at "+strings.TrimSuffix(server.URL, "/v1"))
	server.Fail(http.StatusUnauthorized)
	asked("by words only", "401")
	m.EmbedKey = "TEST_EMBED_KEY_NOT_SET"
	asked("by words only", "TEST_EMBED_KEY_NOT_SET")
	m.State = config.MemoryOff
	asked()
}
