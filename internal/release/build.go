package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// allTargets are the systems and processors of a release, as GOOS/GOARCH.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

type options struct {
	out     string
	targets []string
}

// A binary is one built program and what the linker wrote into it.
type binary struct {
	goos, goarch string
	data         []byte
	info         *debug.BuildInfo
}

// exe returns the name of the program on its system.
func (b *binary) exe() string {
	if b.goos == "windows" {
		return "plimsoll.exe"
	}
	return "plimsoll"
}

// version returns the version of the program without the "v": "0.1.0". GitHub writes a dot for the plus of a build's metadata in names of
// files, so it is one here.
func (b *binary) version() string {
	return strings.ReplaceAll(strings.TrimPrefix(b.info.Main.Version, "v"), "+", ".")
}

// name returns the archive's without its ending, and of the folder in it.
func (b *binary) name() string {
	return "plimsoll-" + b.version() + "-" + b.goos + "-" + b.goarch
}

// archive returns the archive's name.
func (b *binary) archive() string {
	if b.goos == "windows" {
		return b.name() + ".zip"
	}
	return b.name() + ".tar.gz"
}

func (b *binary) setting(key string) string {
	for _, s := range b.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// build makes a whole release in o.out.
func build(ctx context.Context, o options, say io.Writer) error {
	if rows, err := os.ReadDir(o.out); err == nil && len(rows) > 0 {
		return fmt.Errorf("%s is not empty; name another folder with -out, or remove it", o.out)
	}
	work, err := os.MkdirTemp("", "plimsoll-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := checkout(ctx, tree, say); err != nil {
		return err
	}
	var built []*binary
	for _, target := range o.targets {
		begin := time.Now()
		b, err := compile(ctx, tree, target, filepath.Join(work, strings.ReplaceAll(target, "/", "-")))
		if err != nil {
			return err
		}
		built = append(built, b)
		fmt.Fprintf(say, "built %s %s: %.1f MB in %.0f s\n", target, b.info.Main.Version, float64(len(b.data))/1e6, time.Since(begin).Seconds())
	}
	written, err := writtenByProgram(ctx, tree, work)
	if err != nil {
		return err
	}
	changed, err := changeTime(built[0])
	if err != nil {
		return err
	}
	b := bundle{
		tree: tree, pages: maps.Clone(written), version: strings.TrimPrefix(built[0].info.Main.Version, "v"),
		commit: built[0].setting("vcs.revision"), changed: changed, kinds: allKinds,
	}
	for _, target := range o.targets {
		if strings.HasPrefix(target, "linux/") {
			b.programs = append(b.programs, filepath.Join(work, strings.ReplaceAll(target, "/", "-")))
		}
	}
	packed := map[string][]byte{}
	if len(b.programs) > 0 {
		if packed, err = systemPackages(ctx, b, work, say); err != nil {
			return err
		}
	}
	texts := map[string][]byte{}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "install.sh", "install.ps1"} {
		if texts[name], err = os.ReadFile(filepath.Join(tree, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		written[name] = texts[name]
	}
	files := map[string][]byte{"install.sh": texts["install.sh"], "install.ps1": texts["install.ps1"]}
	maps.Copy(files, packed)
	for _, b := range built {
		if files[b.archive()], err = pack(b, written, changed); err != nil {
			return err
		}
		if files[b.name()+".cdx.json"], err = sbom(b); err != nil {
			return err
		}
	}
	return writeRelease(o.out, built[0].version(), texts["CHANGELOG.md"], files, say)
}

// writeRelease adds the checksums, the manifests of package managers and the release notes to files, and writes all of them into the folder
// out.
func writeRelease(out, version string, changes []byte, files map[string][]byte, say io.Writer) error {
	sums := sumsOf(files)
	files["SHA256SUMS"] = []byte(sums)
	maps.Copy(files, manifests(version, sums))
	section := version
	if strings.Contains(version, "-") { // a pseudo-version or a pre-release
		section = ""
	}
	text, err := notes(changes, section)
	if err != nil {
		return err
	}
	files["NOTES.md"] = []byte(text)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(say, "%d files of version %s in %s\n", len(files), version, out)
	return err
}

// checkout makes a checkout of the current commit, with the tags, in another folder: uncommitted changes are not released, and the go
// command stamps no version in a linked work tree.
func checkout(ctx context.Context, tree string, say io.Writer) error {
	git := func(args ...string) (string, error) {
		said, err := exec.CommandContext(ctx, "git", args...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("git %s: %w; build in a git checkout\n%s", strings.Join(args, " "), err, bytes.TrimSpace(said))
		}
		return string(bytes.TrimSpace(said)), nil
	}
	changed, err := git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Fprintln(say, "changes that are in no commit are not built (git status shows them)")
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if _, err := git("clone", "--quiet", "--shared", "--no-checkout", ".", tree); err != nil {
		return err
	}
	_, err = git("-C", tree, "-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit)
	return err
}

// compile builds one target into a file. Only what the build is to depend on is in its binary afterwards.
func compile(ctx context.Context, tree, target, file string) (*binary, error) {
	if !slices.Contains(allTargets, target) {
		return nil, fmt.Errorf("%q is not built; the targets are %s", target, strings.Join(allTargets, ", "))
	}
	goos, goarch, _ := strings.Cut(target, "/")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", file, "./cmd/plimsoll")
	cmd.Dir = tree
	// GOFLAGS is set to what the command line has, because an empty one would be read from the user's `go env -w`.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w\n%s", target, err, bytes.TrimSpace(said))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return inspect(data)
}

// ordinary are the settings that a released binary has, with the values that they must have; "" is any.
var ordinary = map[string]string{
	"-buildmode": "exe", "-compiler": "gc", "-trimpath": "true", "CGO_ENABLED": "0", "GOOS": "", "GOARCH": "", "GOAMD64": "v1", "GOARM64": "v8.0",
	"DefaultGODEBUG": "", // of go.mod
	"vcs":            "git", "vcs.revision": "", "vcs.time": "", "vcs.modified": "false",
}

// inspect reads what the linker wrote into a program, and refuses one that was not built as a release is.
func inspect(data []byte) (*binary, error) {
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("no program of Go: %w", err)
	}
	b := &binary{data: data, info: info}
	b.goos, b.goarch = b.setting("GOOS"), b.setting("GOARCH")
	for _, s := range info.Settings {
		if want, known := ordinary[s.Key]; !known || want != "" && s.Value != want {
			return nil, fmt.Errorf("the binary for %s/%s was built with %s=%s, so that nobody else would get the same one; unset it (go env shows what is set)", b.goos, b.goarch, s.Key, s.Value)
		}
	}
	if b.setting("vcs.revision") == "" {
		return nil, errors.New("the binary names no commit; build in a git checkout, with git installed")
	}
	return b, nil
}

// changeTime returns the time of the commit, or SOURCE_DATE_EPOCH (https://reproducible-builds.org/specs/source-date-epoch/).
func changeTime(b *binary) (time.Time, error) {
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it is a number of seconds since 1970", text)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	return time.Parse(time.RFC3339, b.setting("vcs.time"))
}

// pages are the files that the program writes itself, by their names in the archive.
var pages = map[string][]string{
	"man/plimsoll.1":            {"man"},
	"completions/plimsoll.bash": {"completion", "bash"},
	"completions/_plimsoll":     {"completion", "zsh"},
	"completions/plimsoll.fish": {"completion", "fish"},
	"completions/plimsoll.ps1":  {"completion", "powershell"},
}

// writtenByProgram returns the pages that the program for this system writes; if the release has none for it, it is built.
func writtenByProgram(ctx context.Context, tree, work string) (map[string][]byte, error) {
	program := filepath.Join(work, runtime.GOOS+"-"+runtime.GOARCH)
	if _, err := os.Stat(program); err != nil {
		if _, err := compile(ctx, tree, runtime.GOOS+"/"+runtime.GOARCH, program); err != nil {
			return nil, err
		}
	}
	if runtime.GOOS == "windows" {
		if err := os.Rename(program, program+".exe"); err != nil {
			return nil, err
		}
		program += ".exe"
	}
	return pagesOf(ctx, program, work)
}

// pagesOf runs a program to have it write its manual page and shell completions, and returns them by name.
func pagesOf(ctx context.Context, program, work string) (map[string][]byte, error) {
	written := map[string][]byte{}
	for name, args := range pages {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{"HOME=" + work, "PLIMSOLL_CONFIG=" + os.DevNull, "PLIMSOLL_STATE_DIR=" + filepath.Join(work, "state")}
		text, err := cmd.Output()
		if err != nil || len(text) == 0 {
			return nil, fmt.Errorf("plimsoll %s wrote %d bytes: %w", strings.Join(args, " "), len(text), err)
		}
		written[name] = text
	}
	return written, nil
}
