package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// example is a source with the real checkout, and small programs: what packs them does not look inside.
func example(t *testing.T) source {
	t.Helper()
	pages := t.TempDir()
	for _, name := range []string{"man/plimsoll.1", "completions/plimsoll.bash", "completions/_plimsoll", "completions/plimsoll.fish"} {
		file := filepath.Join(pages, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("text of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return source{
		tree: "../../..", pages: pages, version: "0.2.0-rc.1", commit: "abc", changed: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
		programs: []program{{"amd64", []byte("one")}, {"arm64", []byte("two")}}, kinds: []string{"deb", "rpm", "image"},
	}
}

// Each package has the same bytes again, from other folders.
func TestSameBytes(t *testing.T) {
	first, err := makeAll(example(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again, err := makeAll(example(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"plimsoll_0.2.0~rc.1-1_amd64.deb", "plimsoll_0.2.0~rc.1-1_arm64.deb", "plimsoll-0.2.0~rc.1-1.x86_64.rpm", "plimsoll-0.2.0~rc.1-1.aarch64.rpm",
		"plimsoll-0.2.0-rc.1-image.tar",
	} {
		if len(first[name]) == 0 || !bytes.Equal(first[name], again[name]) {
			t.Errorf("%s: %d bytes, then %d; or others", name, len(first[name]), len(again[name]))
		}
	}
	if len(first) != 5 {
		t.Errorf("there are %d files", len(first))
	}
}

// The image is one that the library reads back, for both processors, and has what Docker before 25 wants too.
func TestImage(t *testing.T) {
	made, err := imageOf(example(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(made.data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Mode != 0o644 || h.ModTime.Year() != 2026 {
			t.Errorf("%s has %d, %o, %v", h.Name, h.Uid, h.Mode, h.ModTime)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := top.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 || outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "0.2.0-rc.1" {
		t.Fatalf("%+v, %v", outer, err)
	}
	index, err := top.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil || len(list.Manifests) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	var old []dockerImage
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &old); err != nil || len(old) != 2 {
		t.Fatalf("manifest.json: %v, %s", err, text)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if p := list.Manifests[i].Platform; p.Architecture != arch || p.OS != "linux" {
			t.Errorf("platform %d is %+v", i, p)
		}
		one, err := index.Image(list.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := one.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c.Architecture != arch || c.Config.User != "65532:65532" || c.Config.Labels["org.opencontainers.image.revision"] != "abc" || !c.Created.Equal(example(t).changed) {
			t.Errorf("%s: %+v", arch, c)
		}
		if want := []string{"plimsoll:0.2.0-rc.1-" + arch}; old[i].RepoTags[0] != want[0] || len(old[i].Layers) != 2 {
			t.Errorf("manifest.json has %+v", old[i])
		}
		for _, name := range append(old[i].Layers, old[i].Config) {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("manifest.json names what is not there: %v", err)
			}
		}
	}
}

// An image that has become heavy is no image.
func TestImageIsLight(t *testing.T) {
	s := example(t)
	noise := make([]byte, maxImage+1<<20)
	for i, x := 0, uint64(1); i < len(noise); i++ { // which cannot be compressed
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		noise[i] = byte(x)
	}
	s.programs = []program{{"amd64", noise}}
	if _, err := imageOf(s); err == nil || !strings.Contains(err.Error(), "more than 25") {
		t.Errorf("26 MB: %v", err)
	}
}

func TestRoots(t *testing.T) {
	n := 0
	for rest := rootCertificates(); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !c.IsCA {
			t.Errorf("root %d: %v", n, err)
		}
	}
	if n < 80 {
		t.Errorf("there are %d roots", n)
	}
}

// What cannot be packed says why, and writes nothing.
func TestMistakes(t *testing.T) {
	s := example(t)
	out := filepath.Join(t.TempDir(), "out")
	other := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", other, "./testdata/hello")
	build.Env = append(os.Environ(), "GOOS=windows", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	ours := other + "-linux"
	build = exec.Command("go", "build", "-o", ours, "./testdata/hello")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	args := func(version, tree, program string) []string {
		return []string{"-tree", tree, "-pages", s.pages, "-version", version, "-time", "2026-11-24T12:00:00Z", "-out", out, program}
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"another system":    {args("0.1.0", s.tree, other), "is for windows/" + runtime.GOARCH},
		"no program":        {args("0.1.0", s.tree, "main.go"), "is no program of Go"},
		"a version of none": {args("v1", s.tree, ours), "is no version"},
		"an empty tree":     {args("0.1.0", s.pages, ours), "has no deploy/systemd"},
		"no program at all": {args("0.1.0", s.tree, ours)[:10], "it takes"},
		"an unknown kind":   {append([]string{"-kinds", "apk"}, args("0.1.0", s.tree, ours)...), "there are deb, rpm and image"},
	} {
		err := command(c.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}
