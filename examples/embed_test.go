package examples_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// The guide on embedding, to the letter, in an empty folder outside the checkout: its commands, and each block of Go as a file of the
// reader's program. The module alone comes from somewhere else: from this checkout, and what it needs from the local cache.
func TestTheGuideOnEmbeddingHolds(t *testing.T) {
	page := testfile.Read(t, "../docs/embed.md")
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 6 {
		t.Fatalf("%d blocks of Go in docs/embed.md", len(blocks))
	}
	model := httptest.NewServer(scripted.New(scripted.Options{Key: "sk-guide", Script: func(turn int, r *scripted.Request) scripted.Reply {
		if turn == 0 {
			return scripted.Reply{Calls: []scripted.Call{{Tool: "add", Args: map[string]int{"a": 19, "b": 23}}}}
		}
		return scripted.Reply{Text: "It is " + regexp.MustCompile(`\b42\b`).FindString(string(r.Body)) + "."}
	}}))
	defer model.Close()

	folder := t.TempDir()
	run := func(command ...string) string {
		t.Helper()
		if !strings.Contains(string(page), "\n"+strings.Join(command, " ")) && !strings.Contains(string(page), " "+strings.Join(command, " ")) {
			t.Errorf("docs/embed.md does not say %q", command)
		}
		return reader(t, folder, model.URL, command...)
	}
	save := func(name, text string) {
		t.Helper()
		if !strings.HasPrefix(text, "package main\n") {
			t.Errorf("docs/embed.md has a block that is no whole file:\n%s", text)
		}
		testfile.Write(t, filepath.Join(folder, name), text)
	}

	run("go", "mod", "init", "example.com/clerk")
	reader(t, folder, "", "go", "mod", "edit", "-require=github.com/plimsoll/plimsoll@v0.0.0", "-replace=github.com/plimsoll/plimsoll="+checkout)
	save("main.go", blocks[0][1])
	run("go", "get", ".")
	if said := run("go", "run", ".", `"what is 19 and 23?"`); said != "completed It is 42.\n" {
		t.Errorf("the program says %q", said)
	}

	for i, b := range blocks[1:] {
		name := fmt.Sprintf("more%d.go", i)
		if strings.Contains(b[1], `"testing"`) {
			name = "main_test.go"
		}
		save(name, b[1])
	}
	run("go", "get", ".")
	reader(t, folder, "", "go", "vet", ".")
	if said := reader(t, folder, "", "go", "test", "-v", "."); !strings.Contains(said, "--- PASS: Test") {
		t.Errorf("the guide's test says %q", said)
	}
}

// reader runs a command as the reader of a guide does, without a network, and returns what it prints.
func reader(t *testing.T, folder, model string, command ...string) string {
	t.Helper()
	for i := range command {
		command[i] = strings.Trim(command[i], `"`)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = folder
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "OPENAI_") }),
		"GOPROXY=off", "GOSUMDB=off", "GOFLAGS=", "GOWORK=off", "OPENAI_API_KEY=sk-guide", "OPENAI_BASE_URL="+model+"/v1")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", command, err, out, &said)
	}
	return string(out)
}
