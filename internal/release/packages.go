package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
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

// tryPackages makes packages of any built programs for Linux, with the files that are in the checkout now, for trying them out.
func tryPackages(ctx context.Context, out, version, kinds string, programs []string, say io.Writer) error {
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

const (
	homepage    = "https://github.com/plimsoll/plimsoll"
	description = "Runs any AI agent and keeps it inside its limits"
)

// manifests returns the formula of Homebrew (plimsoll.rb) and the manifest of Scoop (plimsoll.json) for what SHA256SUMS lists.
// A system that it does not list is in neither.
func manifests(version, sums string) map[string][]byte {
	sumOf := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sumOf[name] = sum
	}
	address := func(name string) string { return homepage + "/releases/download/v" + version + "/" + name }
	return map[string][]byte{"plimsoll.rb": formula(version, sumOf, address), "plimsoll.json": scoop(version, sumOf, address)}
}

// formula follows https://docs.brew.sh/Formula-Cookbook.
func formula(version string, sumOf map[string]string, address func(string) string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "class Plimsoll < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n", description, homepage, version)
	for _, system := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system[0])
		for _, processor := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := "plimsoll-" + version + "-" + system[1] + "-" + processor[1] + ".tar.gz"
			if sum, ok := sumOf[name]; ok {
				fmt.Fprintf(&b, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", processor[0], address(name), sum)
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "plimsoll"
    man1.install "man/plimsoll.1"
    bash_completion.install "completions/plimsoll.bash" => "plimsoll"
    zsh_completion.install "completions/_plimsoll"
    fish_completion.install "completions/plimsoll.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/plimsoll version")
  end
end
`)
	return []byte(b.String())
}

// scoop follows https://github.com/ScoopInstaller/Scoop/wiki/App-Manifests.
func scoop(version string, sumOf map[string]string, address func(string) string) []byte {
	type download struct {
		URL    string `json:"url"`
		Hash   string `json:"hash"`
		Folder string `json:"extract_dir"`
	}
	m := struct {
		Version      string              `json:"version"`
		Description  string              `json:"description"`
		Homepage     string              `json:"homepage"`
		License      string              `json:"license"`
		Architecture map[string]download `json:"architecture"`
		Bin          string              `json:"bin"`
	}{version, description, homepage, "Apache-2.0", map[string]download{}, "plimsoll.exe"}
	for theirs, ours := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		folder := "plimsoll-" + version + "-windows-" + ours
		if sum, ok := sumOf[folder+".zip"]; ok {
			m.Architecture[theirs] = download{address(folder + ".zip"), sum, folder}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	_ = enc.Encode(m) // strings only
	return out.Bytes()
}
