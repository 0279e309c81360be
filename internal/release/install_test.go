package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// needed are the programs that install.sh may call, besides a downloader: a clean environment has no others.
var needed = []string{"sh", "uname", "mktemp", "mkdir", "mv", "cp", "rm", "chmod", "sed", "cut", "head", "grep", "tar", "gzip"}

// release is one with a really built program for this system, and another archive that is not for here. Compressing takes seconds.
var release = sync.OnceValues(func() (map[string][]byte, error) {
	b, err := built()
	if err != nil {
		return nil, err
	}
	other := *b
	other.goos, other.data = "plan9", []byte("not for here")
	files := map[string][]byte{}
	for _, one := range []*binary{b, &other} {
		if files[one.archive()], err = pack(one, texts(), noon); err != nil {
			return nil, err
		}
	}
	files["SHA256SUMS"] = []byte(sumsOf(files))
	return files, nil
})

// published serves a release as GitHub does: latest/download and download/vVERSION, with what change makes of each file.
func published(t *testing.T, change func(name string, data []byte) []byte) string {
	t.Helper()
	files, err := release()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/releases/latest/download/")
		if !ok {
			name, ok = strings.CutPrefix(r.URL.Path, "/releases/download/v0.1.0/")
		}
		data, there := files[name]
		if !ok || !there {
			http.NotFound(w, r)
			return
		}
		if change != nil {
			data = change(name, data)
		}
		w.Header().Set("Content-Length", fmt.Sprint(max(len(data), len(files[name])/2))) // what is cut shorter than half breaks off
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/releases"
}

// A host is a clean environment: a HOME, and a PATH with nothing but what install.sh needs.
type host struct {
	t          *testing.T
	shell      string
	home, path string
	nobody     bool // as another user, where this one is root
}

func newHost(t *testing.T, shell, downloader, summer string) *host {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for Linux and macOS")
	}
	h := &host{t: t, home: t.TempDir(), path: t.TempDir()}
	for _, name := range append([]string{shell, downloader, summer}, needed...) {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not here", name)
		}
		if err := os.Symlink(file, filepath.Join(h.path, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if name == shell {
			h.shell = file
		}
	}
	return h
}

// install runs the script and gives its status and all that it says.
func (h *host) install(args ...string) (int, string) {
	h.t.Helper()
	script, err := filepath.Abs(filepath.Join(top, "install.sh"))
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := os.Open(script) // which somebody else may not be allowed to
	if err != nil {
		h.t.Fatal(err)
	}
	defer text.Close()
	cmd := exec.CommandContext(h.t.Context(), h.shell, append([]string{"-s", "--"}, args...)...) // as behind a pipe
	cmd.Stdin, cmd.Dir = text, "/"
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + h.path}
	if h.nobody {
		asNobody(cmd)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// left lists the files below HOME.
func (h *host) left() []string {
	h.t.Helper()
	var files []string
	err := filepath.WalkDir(h.home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, h.home+"/"))
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

const all = `.local/bin/plimsoll .local/share/bash-completion/completions/plimsoll .local/share/fish/vendor_completions.d/plimsoll.fish .local/share/man/man1/plimsoll.1 .local/share/zsh/site-functions/_plimsoll`

// Each shell, downloader and program of sums installs, installs again, and takes everything out again.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, with := range [][3]string{{"dash", "curl", "sha256sum"}, {"bash", "wget", "shasum"}} {
		t.Run(strings.Join(with[:], " "), func(t *testing.T) {
			t.Parallel()
			from := published(t, nil)
			h := newHost(t, with[0], with[1], with[2])
			if code, said := h.install("--from", from, "--dry-run"); code != 0 || !strings.Contains(said, "would install "+h.home+"/.local/bin/plimsoll\n") || len(h.left()) != 0 {
				t.Fatalf("a dry run: %d, %q left\n%s", code, h.left(), said)
			}
			for _, version := range []string{"", "--version=0.1.0"} {
				args := []string{"--from", from}
				if version != "" {
					args = append(args, version)
				}
				code, said := h.install(args...)
				if got := strings.Join(h.left(), " "); code != 0 || got != all {
					t.Fatalf("%d, installed %s\n%s", code, got, said)
				}
				if !strings.Contains(said, "installed "+h.home+"/.local/bin/plimsoll\n") || !strings.Contains(said, `is not in PATH. Next: add it in your shell's profile: export PATH="`+h.home) {
					t.Errorf("it says\n%s", said)
				}
			}
			file := filepath.Join(h.home, ".local/bin/plimsoll")
			if out, err := exec.CommandContext(t.Context(), file, "version").Output(); err != nil || !bytes.HasPrefix(out, []byte("plimsoll ")) {
				t.Errorf("what was installed says %q, %v", out, err)
			}
			if code, said := h.install("--uninstall"); code != 0 || len(h.left()) != 0 {
				t.Errorf("%d, %q is left\n%s", code, h.left(), said)
			}
			if code, said := h.install("--uninstall"); code != 1 || !strings.Contains(said, "nothing was removed") {
				t.Errorf("nothing to remove: %d, %s", code, said)
			}
			// A folder that is not called bin, with a space, gets the binary alone.
			if code, said := h.install("--from", from, "--to", h.home+"/my tools"); code != 0 || strings.Join(h.left(), " ") != "my tools/plimsoll" {
				t.Errorf("%d, %q\n%s", code, h.left(), said)
			}
		})
	}
}

// What goes wrong leaves the program that was there as it was, no other file, and one sentence.
func TestInstallThatFails(t *testing.T) {
	t.Parallel()
	archive := func(change func([]byte) []byte) func(string, []byte) []byte {
		return func(name string, data []byte) []byte {
			if strings.HasSuffix(name, ".tar.gz") {
				return change(data)
			}
			return data
		}
	}
	half := archive(func(data []byte) []byte { return data[:len(data)/3] })
	cases := map[string]struct {
		change  func(string, []byte) []byte
		args    []string
		machine string // what uname says: "system processor"
		says    string
	}{
		"wrong sum":           {change: archive(func(data []byte) []byte { return append(bytes.Clone(data), 'x') }), says: "so it is not the file that was released"},
		"half a download":     {change: half, says: "was not fetched whole"},
		"half a list of sums": {change: func(name string, data []byte) []byte { return data[:len(data)/3] }, says: "SHA256SUMS cannot be fetched"},
		"no such version":     {args: []string{"--version", "9.9.9"}, says: "v9.9.9/SHA256SUMS cannot be fetched"},
		"no version":          {args: []string{"--version", "../../x"}, says: "is no version"},
		"another processor":   {machine: "Linux riscv64", says: "there is no release for linux on riscv64"},
		"another system":      {machine: "FreeBSD amd64", says: "there is no release for FreeBSD"},
		"not in this release": {machine: "Darwin arm64", says: "names no archive for darwin-arm64"},
		"without TLS":         {args: []string{"--from", "http://192.0.2.1/releases"}, says: "only https:// is"},
		"a user name":         {args: []string{"--from", "http://127.0.0.1:x@192.0.2.1/releases"}, says: "it has a user name"},
		"nobody there":        {args: []string{"--from", "http://127.0.0.1:1/releases"}, says: "cannot be fetched"},
		"an unknown argument": {args: []string{"--nonsense"}, says: "unknown argument --nonsense"},
		"an argument too few": {args: []string{"--to"}, says: "--to wants a value"},
		"below a file":        {args: []string{"--to", "/dev/null/bin"}, says: "cannot be written"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "not in this release" && runtime.GOOS == "darwin" {
				t.Skip("it is the system here")
			}
			downloaders := []string{"curl"}
			if c.change != nil {
				downloaders = append(downloaders, "wget")
			}
			for _, downloader := range downloaders {
				h := newHost(t, "dash", downloader, "sha256sum")
				old := filepath.Join(h.home, ".local/bin/plimsoll")
				if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(old, []byte("the old one"), 0o700); err != nil {
					t.Fatal(err)
				}
				if c.machine != "" {
					h.pretend(c.machine)
				}
				code, said := h.install(append([]string{"--from", published(t, c.change)}, c.args...)...)
				if code != 1 || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
					t.Errorf("%s: status %d, want 1 and one line with %q:\n%s", downloader, code, c.says, said)
				}
				if text, err := os.ReadFile(old); err != nil || string(text) != "the old one" || len(h.left()) != 1 {
					t.Errorf("%s: the old program is %q, %v; there is %q", downloader, text, err, h.left())
				}
			}
		})
	}
}

// pretend puts another uname in front: the machine cannot be another one.
func (h *host) pretend(machine string) {
	h.t.Helper()
	file := filepath.Join(h.path, "uname")
	system, processor, _ := strings.Cut(machine, " ")
	script := "#!/bin/sh\ncase $1 in -s) echo " + system + " ;; -m) echo " + processor + " ;; esac\n"
	if err := os.Remove(file); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		h.t.Fatal(err)
	}
}

// A folder of somebody else is not tried with root's rights, and nothing is left beside it.
func TestInstallIntoAFolderThatIsNotWritable(t *testing.T) {
	t.Parallel()
	h := newHost(t, "dash", "curl", "sha256sum")
	h.nobody = true
	locked := filepath.Join(h.home, "locked")
	if err := errors.Join(os.Mkdir(locked, 0o555), os.Chmod(filepath.Dir(h.home), 0o755)); err != nil { // nobody may look into it
		t.Fatal(err)
	}
	code, said := h.install("--from", published(t, nil), "--to", locked)
	if code != 1 || !strings.Contains(said, locked+" cannot be written; nothing was changed") || len(h.left()) != 0 {
		t.Errorf("%d, %q\n%s", code, h.left(), said)
	}
}
