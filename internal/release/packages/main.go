// Command packages makes the deb, the rpm and the container image of programs that are built already. `go run ./internal/release` starts it:
//
//	packages -tree DIR -pages DIR -version 0.1.0 -time 2026-11-24T12:00:00Z -out DIR PROGRAM...
//
// PROGRAM is plimsoll for linux; what processor it is for stands in it. The tree is the checkout that licence, units, examples and
// changelog are taken from, the pages are what the program writes itself (man/plimsoll.1, completions/…). The same input gives the same bytes:
// all times are -time, all owners are root (in the image: of the user 65532 where that user writes), and nothing is read of the machine.
//
// It is a module of its own, because of what nfpm and go-containerregistry bring: neither the binary nor `go test ./...` compiles them, and
// the go.mod that every user of the Go packages reads does not list them.
package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	err := command(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packages: "+err.Error())
		os.Exit(1)
	}
}

// A source is the input of packages.
type source struct {
	tree, pages string // folders
	version     string // without the "v": 0.1.0, 0.1.0-rc.1
	commit      string // "" where the program names none
	changed     time.Time
	programs    []program
	kinds       []string
}

// A program is plimsoll for one processor.
type program struct {
	arch string // as Go calls it
	data []byte
}

// versions are semantic ones, without metadata of a build: nothing else can be ordered by dpkg, rpm and a tag of an image alike.
var versions = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

func command(args []string, say io.Writer) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	var s source
	var when, out, kinds string
	flags.StringVar(&s.tree, "tree", ".", "a `folder` with the checkout")
	flags.StringVar(&s.pages, "pages", "", "a `folder` with man/plimsoll.1 and completions")
	flags.StringVar(&s.version, "version", "", "of the packages, as in 0.1.0")
	flags.StringVar(&s.commit, "commit", "", "that the programs were built of")
	flags.StringVar(&when, "time", "", "of all that is packed, as in 2026-11-24T12:00:00Z")
	flags.StringVar(&kinds, "kinds", "deb,rpm,image", "what is made, with commas between")
	flags.StringVar(&out, "out", "", "the `folder` to write into")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 || s.pages == "" || out == "" {
		return errors.New("it takes -pages, -version, -time, -out and programs; go run ./internal/release starts it")
	}
	if !versions.MatchString(s.version) {
		return fmt.Errorf("-version %q is no version; write it as in 0.1.0", s.version)
	}
	s.kinds = strings.Split(kinds, ",")
	for _, kind := range s.kinds {
		if !slices.Contains([]string{"deb", "rpm", "image"}, kind) {
			return fmt.Errorf("-kinds has %q; there are deb, rpm and image", kind)
		}
	}
	var err error
	if s.changed, err = time.Parse(time.RFC3339, when); err != nil {
		return fmt.Errorf("-time: %w", err)
	}
	s.changed = s.changed.UTC()
	for _, name := range flags.Args() {
		p, err := readProgram(name)
		if err != nil {
			return err
		}
		s.programs = append(s.programs, p)
	}
	files, err := makeAll(s, say)
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
	}
	return nil
}

func readProgram(name string) (program, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return program{}, fmt.Errorf("%s is no program of Go: %w", name, err)
	}
	set := map[string]string{}
	for _, one := range info.Settings {
		set[one.Key] = one.Value
	}
	if set["GOOS"] != "linux" || set["GOARCH"] != "amd64" && set["GOARCH"] != "arm64" {
		return program{}, fmt.Errorf("%s is for %s/%s; packages are made for linux/amd64 and linux/arm64", name, set["GOOS"], set["GOARCH"])
	}
	if set["CGO_ENABLED"] != "0" {
		return program{}, fmt.Errorf("%s was built with cgo and wants libraries of the system; build it with CGO_ENABLED=0", name)
	}
	return program{set["GOARCH"], data}, nil
}

// makeAll makes everything in memory: what fails leaves no file.
func makeAll(s source, say io.Writer) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range s.programs {
		for _, kind := range []string{"deb", "rpm"} {
			if !slices.Contains(s.kinds, kind) {
				continue
			}
			name, data, err := pack(s, p, kind)
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", kind, p.arch, err)
			}
			files[name] = data
		}
	}
	if !slices.Contains(s.kinds, "image") {
		return files, nil
	}
	made, err := imageOf(s)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	files[made.name] = made.data
	for _, line := range made.about {
		fmt.Fprintln(say, line)
	}
	return files, nil
}
