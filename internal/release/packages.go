package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A bundle is the input of debs, rpms and the container image.
type bundle struct {
	tree     string            // the checkout
	pages    map[string][]byte // what the program writes itself
	version  string            // as a semantic one without the "v"
	commit   string
	changed  time.Time
	programs []string // files, all of linux
	kinds    string   // what is made, with commas between
}

const allKinds = "deb,rpm,image"

// systemPackages makes them by the module in internal/release/packages, which is compiled for it, and gives them by name.
func systemPackages(ctx context.Context, b bundle, work string, say io.Writer) (map[string][]byte, error) {
	pages, out := filepath.Join(work, "pages"), filepath.Join(work, "packages")
	for name, text := range b.pages {
		file := filepath.Join(pages, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			return nil, err
		}
	}
	// A build's metadata has no place in a tag of an image.
	version, _, _ := strings.Cut(b.version, "+")
	args := append([]string{
		"-C", filepath.Join(b.tree, "internal", "release", "packages"), "run", ".", "-tree", b.tree, "-pages", pages, "-version", version,
		"-commit", b.commit, "-time", b.changed.UTC().Format(time.RFC3339), "-kinds", b.kinds, "-out", out,
	}, b.programs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = say, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("deb, rpm and image: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	rows, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, row := range rows {
		if files[row.Name()], err = os.ReadFile(filepath.Join(out, row.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// packagesOf makes the packages of programs that were built in any way, with what is in the checkout now: to try them.
func packagesOf(ctx context.Context, out, version, kinds string, programs []string, say io.Writer) error {
	if len(programs) == 0 {
		return errors.New("packages wants programs of linux, as in: release packages -out out/packages plimsoll")
	}
	tree, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "plimsoll-packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := bundle{tree: tree, version: strings.TrimPrefix(version, "v"), kinds: kinds, changed: time.Now()}
	if os.Getenv("SOURCE_DATE_EPOCH") != "" {
		if b.changed, err = changeTime(&binary{}); err != nil {
			return err
		}
	}
	starts := ""
	for _, name := range programs {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return fmt.Errorf("%s is no program of Go: %w", name, err)
		}
		if one := (&binary{info: info}); b.version == "" && one.version() != "(devel)" {
			b.version, b.commit = one.version(), one.setting("vcs.revision")
		}
		if one := (&binary{info: info}); one.setting("GOOS") == runtime.GOOS && one.setting("GOARCH") == runtime.GOARCH {
			starts = name
		}
		b.programs = append(b.programs, name)
	}
	if starts == "" {
		return fmt.Errorf("none of the programs starts on %s/%s, so that nobody writes the manual page and the completions; name one that does", runtime.GOOS, runtime.GOARCH)
	}
	if b.version == "" {
		return errors.New("the programs have no version; name one, as in -version 0.1.0")
	}
	if b.pages, err = pagesOf(ctx, starts, work); err != nil {
		return err
	}
	files, err := systemPackages(ctx, b, work, say)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(say, filepath.Join(out, name))
	}
	return nil
}
