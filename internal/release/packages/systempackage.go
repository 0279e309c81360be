package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the packagers that nfpm.Get knows
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	maintainer = "The Plimsoll authors <plimsoll@users.noreply.github.com>"
	homepage   = "https://github.com/plimsoll/plimsoll"
	summary    = "runs any AI agent and keeps it inside its limits"
	revision   = "1" // of the package, not of the program
)

const about = `An agent CLI is small, but what it starts is not. plimsoll starts an
agent inside limits of memory, processes, context window and tool output:
"plimsoll run -- claude", with nothing else to change. When a build needs
more than its limit the build is killed, and the agent goes on.
`

//go:embed scripts
var scripts embed.FS

// pack makes a deb or an rpm, and returns it with its name.
func pack(s source, p program, kind string) (name string, data []byte, err error) {
	contents, err := installed(s, p, kind)
	if err != nil {
		return "", nil, err
	}
	stage, err := os.MkdirTemp("", "plimsoll-packages-") // nfpm reads files
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(stage)
	info := &nfpm.Info{
		Name: "plimsoll", Arch: p.arch, Platform: "linux", Version: s.version, VersionSchema: "semver", Release: revision,
		Section: "utils", Priority: "optional", Maintainer: maintainer, Vendor: "Plimsoll", Homepage: homepage, License: "Apache-2.0",
		Description: summary + "\n" + about, DisableGlobbing: true, MTime: s.changed,
	}
	info.Umask = 0o022
	info.RPM.BuildHost, info.RPM.Summary, info.RPM.Packager, info.RPM.Group = "localhost", capital(summary), maintainer, "Unspecified"
	info.RPM.Compression = "zstd"
	info.Deb.Compression = "gzip" // every dpkg reads it
	info.Recommends = []string{"ca-certificates"}
	if info.Changelog, err = changes(s, stage); err != nil {
		return "", nil, err
	}
	if kind == "deb" {
		info.Changelog, info.License = "", "" // installed has them
	}
	for i, one := range contents {
		from := filepath.Join(stage, fmt.Sprint(i))
		if err := os.WriteFile(from, one.data, 0o600); err != nil {
			return "", nil, err
		}
		c := &files.Content{Source: from, Destination: one.to, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: one.mode, MTime: s.changed}}
		switch {
		case kind == "rpm" && (strings.HasPrefix(one.to, doc) || strings.HasPrefix(one.to, "/usr/share/man/")):
			c.Type = files.TypeRPMDoc
		case strings.HasPrefix(one.to, "/usr/share/licenses/"):
			c.Type = files.TypeRPMLicense
		}
		info.Contents = append(info.Contents, c)
	}
	folders := []string{"/etc/plimsoll", path.Clean(doc), doc + "examples"} // which go with the package
	if kind == "rpm" {
		folders = append(folders, "/usr/share/licenses/plimsoll")
	}
	for _, folder := range folders {
		info.Contents = append(info.Contents, &files.Content{
			Destination: folder, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: s.changed},
		})
	}
	for when, into := range map[string]*string{
		"postinstall": &info.Scripts.PostInstall, "preremove": &info.Scripts.PreRemove, "postremove": &info.Scripts.PostRemove,
	} {
		text, err := scripts.ReadFile("scripts/" + kind + "." + when)
		if err != nil {
			return "", nil, err
		}
		*into = filepath.Join(stage, when)
		if err := os.WriteFile(*into, text, 0o600); err != nil {
			return "", nil, err
		}
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(kind)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return "", nil, err
	}
	return packager.ConventionalFileName(info), out.Bytes(), nil
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// changes writes the changelog of an rpm, in the form that nfpm reads (https://github.com/goreleaser/chglog).
func changes(s source, dir string) (string, error) {
	name := filepath.Join(dir, "changes.yml")
	text := fmt.Sprintf("- semver: %s\n  date: %s\n  packager: %s\n  changes:\n    - note: %q\n",
		s.version, s.changed.Format("2006-01-02T15:04:05Z"), maintainer, "Plimsoll "+s.version+": "+doc+"changelog.gz says what changed.")
	return name, os.WriteFile(name, []byte(text), 0o600)
}
