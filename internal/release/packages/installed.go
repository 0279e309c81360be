package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A file is one that a deb or an rpm puts into the system.
type file struct {
	to   string
	data []byte
	mode os.FileMode
}

const doc = "/usr/share/doc/plimsoll/"

// installed returns the files that a package of a kind ("deb" or "rpm") installs. The folders are those that the Debian Policy and
// the Filesystem Hierarchy Standard name, and for units those that systemd reads (systemd.unit(5)).
func installed(s source, p program, kind string) ([]file, error) {
	files := []file{{"/usr/bin/plimsoll", p.data, 0o755}}
	var failed error
	from := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil && failed == nil {
			failed = err
		}
		return data
	}
	put := func(to string, data []byte) { files = append(files, file{to, data, 0o644}) }
	page := func(name string) []byte { return from(filepath.Join(s.pages, filepath.FromSlash(name))) }
	text := func(name string) []byte { return from(filepath.Join(s.tree, filepath.FromSlash(name))) }

	zsh := "/usr/share/zsh/site-functions/_plimsoll"
	if kind == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_plimsoll"
	}
	put("/usr/share/man/man1/plimsoll.1.gz", zipped(page("man/plimsoll.1")))
	put("/usr/share/bash-completion/completions/plimsoll", page("completions/plimsoll.bash"))
	put(zsh, page("completions/_plimsoll"))
	put("/usr/share/fish/vendor_completions.d/plimsoll.fish", page("completions/plimsoll.fish"))

	for _, place := range []struct{ pattern, to string }{
		{"deploy/systemd/*.service", "/usr/lib/systemd/system/"},
		{"deploy/systemd/*.socket", "/usr/lib/systemd/system/"},
		{"deploy/systemd/*.timer", "/usr/lib/systemd/system/"},
		{"deploy/systemd/user/*", "/usr/lib/systemd/user/"},
		{"deploy/systemd/*.conf", doc + "examples/"},
		{"deploy/prometheus/*.rules.yml", doc + "examples/"},
		{"deploy/grafana/*.json", doc + "examples/"},
		{"examples/configs/*.toml", doc + "examples/"},
	} {
		found, err := filepath.Glob(filepath.Join(s.tree, filepath.FromSlash(place.pattern)))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("the tree %s has no %s", s.tree, place.pattern)
		}
		for _, name := range found {
			put(place.to+filepath.Base(name), from(name))
		}
	}

	put(doc+"README.md", text("README.md"))
	put(doc+"NOTICE", text("NOTICE"))
	put(doc+"changelog.gz", zipped(text("CHANGELOG.md")))
	if kind == "deb" {
		put(doc+"copyright", fmt.Appendf(nil, copyright, indented(text("NOTICE"))))
		put(doc+"changelog.Debian.gz", zipped([]byte(debianChanges(s))))
		put("/usr/share/lintian/overrides/plimsoll", []byte(overrides))
	} else {
		put("/usr/share/licenses/plimsoll/LICENSE", text("LICENSE"))
	}
	return files, failed
}

// zipped packs as `gzip -9n` does: neither a name nor a time is in it.
func zipped(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is one
	}
	_, _ = w.Write(data) // into memory
	_ = w.Close()
	return out.Bytes()
}

// copyright follows https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: plimsoll
Source: https://github.com/plimsoll/plimsoll
Comment:
 The program is linked statically with the Go modules that its bill of materials names
 (plimsoll-*.cdx.json of the release; "go version -m /usr/bin/plimsoll").
 NOTICE says what data of others is in it:
 .
%s
Files: *
Copyright: 2026 The Plimsoll authors
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`

// indented writes a text as the continuation of a field of a control file.
func indented(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(string(text)) + "\n") {
		if line = strings.TrimRight(line, " \n"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}

// overrides are the findings of lintian that stay, each with the reason.
const overrides = `# A program of Go without cgo needs no library, so that no update of one reaches it: it is built again.
plimsoll: statically-linked-binary [usr/bin/plimsoll]
# The package is not in Debian's archive: no bug of it asks for the program.
plimsoll: initial-upload-closes-no-bugs [usr/share/doc/plimsoll/changelog.Debian.gz:1]
# try-restart and disable touch what the administrator has started and enabled; deb-systemd-invoke has neither of them.
plimsoll: maintainer-script-calls-systemctl [postinst:*]
plimsoll: maintainer-script-calls-systemctl [prerm:*]
`

// debianChanges returns the changelog in Debian's form (deb-changelog(5)): one entry, for this package. What changed is upstream's to tell.
func debianChanges(s source) string {
	return fmt.Sprintf("plimsoll (%s-%s) unstable; urgency=medium\n\n  * Plimsoll %s: %schangelog.gz says what changed.\n\n -- %s  %s\n",
		strings.Replace(s.version, "-", "~", 1), revision, s.version, path.Clean(doc)+"/", maintainer, s.changed.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}
