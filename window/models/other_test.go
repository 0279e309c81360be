package models

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Held against somebody else's catalogue (LiteLLM's model_prices_and_context_window.json), at most one name of a hundred may be taken for
// smaller by more than a quarter and enforced: what is taken for too small is cut although the provider would have taken it. Nothing is
// tuned on that catalogue.
//
//	PLIMSOLL_CATALOGUE=FILE go test ./window/models -run OtherCatalogue -v
func TestOtherCatalogue(t *testing.T) {
	file := os.Getenv("PLIMSOLL_CATALOGUE")
	if file == "" {
		t.Skip("PLIMSOLL_CATALOGUE names no file: a public catalogue, LiteLLM's")
	}
	data := testfile.Read(t, file)
	var theirs map[string]struct {
		Provider string `json:"litellm_provider"`
		Mode     string
		Input    any `json:"max_input_tokens"`
	}
	if err := json.Unmarshal(data, &theirs); err != nil {
		t.Fatal(err)
	}
	all, known, guessed, agree := 0, 0, 0, 0
	var under []string
	for id, m := range theirs {
		input, _ := m.Input.(float64)
		if m.Mode != "chat" && m.Mode != "responses" || input < MinContext {
			continue
		}
		all++
		// As a client of that provider asks: where it is none of ours, at its public address.
		provider := strings.ReplaceAll(m.Provider, "_", "-")
		for Provider(provider) == "" && strings.Contains(provider, "-") {
			provider = provider[:strings.LastIndexByte(provider, '-')]
		}
		if Provider(provider) == "" {
			provider = "openai+https://api." + strings.ReplaceAll(m.Provider, "_", "-") + ".example/v1"
		}
		w, ok := Lookup(provider, id, nil)
		if !ok {
			continue
		}
		known++
		if float64(w.ForInput(0)) >= 0.75*input {
			continue
		}
		switch {
		case w.Guessed() && !CutsSilently(provider, id):
			guessed++
			continue
		case float64(w.Context) >= 0.95*input: // they have one number for the window and for the input of it
			agree++
			continue
		}
		under = append(under, fmt.Sprintf("%-12s %-70s %9d, theirs %9.0f, %s", provider, id, w.ForInput(0), input, w.Source))
	}
	slices.Sort(under)
	for _, line := range under {
		t.Log(line)
	}
	t.Logf("%d chat models, %d of them resolve, %d are under by more than a quarter and enforced (%.2f %%), %d more are guesses that are not enforced, and of %d the window is theirs and the input of it smaller", all, known, len(under), 100*float64(len(under))/float64(known), guessed, agree)
	if known < 100 || len(under)*100 > known {
		t.Errorf("%d of %d are too many", len(under), known)
	}
}
