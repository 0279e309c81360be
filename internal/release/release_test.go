package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

const top = "../.."

// built is the program for this system, as the tests of archives and scripts use it: really built, by the flags that the rest of the
// gate has compiled for already.
var built = sync.OnceValues(func() (*binary, error) {
	dir, err := os.MkdirTemp("", "plimsoll-release-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "plimsoll")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./cmd/plimsoll")
	cmd.Dir, cmd.Env = top, append(os.Environ(), "GOFLAGS=-trimpath=false", "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	info.Main.Version = "v0.1.0" // a build by -buildvcs=false has none
	return &binary{goos: runtime.GOOS, goarch: runtime.GOARCH, data: data, info: info}, nil
})

// texts stand for what else is in an archive.
func texts() map[string][]byte {
	files := map[string][]byte{"LICENSE": []byte("licence\n"), "NOTICE": []byte("notice\n"), "README.md": []byte("read me\n")}
	for name := range pages {
		files[name] = []byte("text of " + name + "\n")
	}
	return files
}

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// What the bill lists is what `go version -m` prints of the same file, with the same sums.
func TestSBOMSaysWhatGoVersionSays(t *testing.T) {
	t.Parallel()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plimsoll")
	testfile.Write(t, file, b.data)
	out, err := exec.CommandContext(t.Context(), "go", "version", "-m", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t") // "", "dep", path, version, sum
		if len(f) == 5 && f[1] == "dep" {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(f[4], "h1:"))
			if err != nil {
				t.Fatal(err)
			}
			want[f[2]+" "+f[3]] = hex.EncodeToString(raw)
		}
	}
	if len(want) < 10 {
		t.Fatalf("go version -m names %d modules: %s", len(want), out)
	}
	want["std "+strings.TrimPrefix(runtime.Version(), "go")] = ""
	text, err := sbom(b)
	if err != nil {
		t.Fatal(err)
	}
	var list bom
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range list.Components {
		got[c.Name+" "+c.Version] = ""
		if len(c.Hashes) == 1 {
			got[c.Name+" "+c.Version] = c.Hashes[0].Content
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the bill lists %v, go version -m %v", got, want)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(b.data)); list.Metadata.Component.Hashes[0].Content != sum {
		t.Errorf("the program's sum is %s, the bill has %v", sum, list.Metadata.Component.Hashes)
	}
	for _, tool := range []string{"honnef.co/go/tools", "mvdan.cc/gofumpt", "github.com/chromedp/chromedp"} {
		for _, c := range list.Components {
			if c.Name == tool {
				t.Errorf("%s only builds or tests, and is in the program", tool)
			}
		}
	}
}

// Archives for every system have the same bytes each time, and give the program back.
func TestArchives(t *testing.T) {
	t.Parallel()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range allTargets {
		one := *b
		one.goos, one.goarch, _ = strings.Cut(target, "/")
		one.data = []byte("the program of " + target)
		first, err := pack(&one, texts(), noon)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pack(&one, texts(), noon.In(time.FixedZone("east", 5*3600+1800)))
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: another time zone makes another archive (%v)", target, err)
		}
		if got, err := extractProgram(one.archive(), first); err != nil || !bytes.Equal(got, one.data) {
			t.Errorf("%s: %q, %v", target, got, err)
		}
	}
}

func TestABinaryOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(b.data); err == nil || !strings.Contains(err.Error(), "-trimpath") && !strings.Contains(err.Error(), "-ldflags") {
		t.Errorf("a binary with the paths of this machine in it: %v", err)
	}
	if _, err := inspect([]byte("#!/bin/sh\n")); err == nil {
		t.Error("a script passes as a program of Go")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	changes := []byte("# Changelog\n\n## Unreleased\n\n- [FIX] new\n\n## 0.2.0 (2026-12-01)\n\n- [FIX] b\n- [FIX] c\n\n## 0.1.0\n\n- [FIX] a\n")
	for version, want := range map[string]string{"": "- [FIX] new\n", "v0.2.0": "- [FIX] b\n- [FIX] c\n", "0.1.0": "- [FIX] a\n"} {
		if got, err := notes(changes, version); err != nil || got != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if text, err := notes(changes, "0.3.0"); err == nil {
		t.Errorf("a version without a section: %q", text)
	}
	ours := testfile.Read(t, filepath.Join(top, "CHANGELOG.md"))
	if _, err := notes(ours, ""); err != nil {
		t.Error(err)
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	for _, target := range allTargets {
		b := binary{info: &debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}}
		b.goos, b.goarch, _ = strings.Cut(target, "/")
		files[b.archive()] = []byte(target)
	}
	made := manifests("0.1.0", sumsOf(files))
	var s struct {
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(made["plimsoll.json"], &s); err != nil || len(s.Architecture) != 2 {
		t.Fatalf("%v: %s", err, made["plimsoll.json"])
	}
	for name, data := range files {
		text, sum := made["plimsoll.rb"], fmt.Sprintf("%x", sha256.Sum256(data))
		if strings.HasSuffix(name, ".zip") {
			text = made["plimsoll.json"]
		}
		at := bytes.Index(text, []byte("/releases/download/v0.1.0/"+name+`"`))
		if at < 0 || bytes.Index(text[at:], []byte(sum)) > 400 || !bytes.Contains(text[at:], []byte(sum)) {
			t.Errorf("%s with %s is not in\n%s", name, sum, text)
		}
	}
	if n := strings.Count(string(made["plimsoll.rb"]), "sha256 "); n != 4 {
		t.Errorf("the formula has %d sums, want 4", n)
	}
}

// Two builds of one commit are equal byte for byte: in another folder, time zone, umask and HOME, and by night with everything compiled twice.
func TestTwoBuildsAreEqual(t *testing.T) {
	if testing.Short() || os.Getenv("PLIMSOLL_TEST_RELEASE") == "" {
		t.Skip("compiles the program with -trimpath, which takes minutes: PLIMSOLL_TEST_RELEASE=1, as in the gate's step cross")
	}
	if runtime.GOOS == "windows" {
		t.Skip("umask is of Unix")
	}
	work := t.TempDir()
	release := filepath.Join(work, "release")
	do := func(dir string, env []string, line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	do(".", []string{"GOFLAGS=", "CGO_ENABLED=0"}, "go build -o '"+release+"' .")
	git := "git -c user.name=t -c user.email=t@example.org -c core.hooksPath=/dev/null "
	first, second := filepath.Join(work, "one"), filepath.Join(work, "two", "and a space")
	// What is in the folder now, as a commit with a tag.
	do(top, nil, "mkdir '"+first+"' && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C '"+first+"'")
	do(first, nil, "git init -q && "+git+"add -A && "+git+"commit -qm one && printf '\\n## 0.9.7\\n\\n- [FIX] a test\\n' >>CHANGELOG.md && "+git+"commit -qam two && git tag v0.9.7")
	do(work, nil, "mkdir two && git clone -q '"+first+"' '"+second+"'")
	target := runtime.GOOS + "/" + runtime.GOARCH
	cache := os.Getenv("GOCACHE")
	if os.Getenv("GATE_NIGHTLY") == "true" {
		cache = filepath.Join(work, "cache")
	}
	modules, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	shared := strings.Fields(string(modules))
	if cache == "" {
		cache = shared[0]
	}
	do(first, []string{"TZ=America/St_Johns"}, "umask 022 && '"+release+"' build -out out/a -targets "+target)
	do(second, []string{"TZ=Asia/Kathmandu", "HOME=" + work, "LC_ALL=C", "USER=nobody", "GOCACHE=" + cache, "GOMODCACHE=" + shared[1]},
		"umask 077 && '"+release+"' build -out '../b' -targets "+target+" && '"+release+"' check ../b")
	one, two := contents(t, filepath.Join(first, "out/a")), contents(t, filepath.Join(work, "two", "b"))
	if !slices.Equal(slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(two))) || len(one) != 11 {
		t.Errorf("one build wrote %q, the other %q", slices.Sorted(maps.Keys(one)), slices.Sorted(maps.Keys(two)))
	}
	for name := range one {
		if one[name] != two[name] {
			t.Errorf("%s differs between two builds of one commit", name)
		}
	}
	if one["NOTES.md"] != "- [FIX] a test\n" {
		t.Errorf("the notes are %q", one["NOTES.md"])
	}
	archive := "plimsoll-0.9.7-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	raw, err := extractProgram(archive, []byte(one[archive]))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(work)) {
		t.Error("the program names the folder that it was built in")
	}

	// What does not agree is found.
	bad := filepath.Join(work, "two", "b", "plimsoll.rb")
	testfile.Write(t, bad, strings.Replace(one["plimsoll.rb"], "0.9.7", "0.9.8", 1))
	if err := checkRelease(filepath.Dir(bad), io.Discard); err == nil || !strings.Contains(err.Error(), "plimsoll.rb") {
		t.Errorf("a changed formula: %v", err)
	}
	testfile.Write(t, filepath.Join(work, "two", "b", archive), one[archive]+"x")
	if err := checkRelease(filepath.Dir(bad), io.Discard); err == nil || !strings.Contains(err.Error(), "SHA256SUMS") {
		t.Errorf("a changed archive: %v", err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	rows, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		data := testfile.Read(t, filepath.Join(dir, row.Name()))
		files[row.Name()] = string(data)
	}
	return files
}
