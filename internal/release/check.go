package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// check makes SBOMs, sums and manifests anew from the archives of a folder, and compares them with those that are there.
func check(dir string, say io.Writer) error {
	rows, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	summed, all := map[string][]byte{}, map[string][]byte{}
	for _, row := range rows {
		data, err := os.ReadFile(filepath.Join(dir, row.Name()))
		if err != nil {
			return err
		}
		all[row.Name()] = data
		switch row.Name() {
		case "SHA256SUMS", "NOTES.md", "plimsoll.rb", "plimsoll.json":
		default:
			summed[row.Name()] = data
		}
	}
	same := func(name string, want []byte) error {
		if got, there := all[name]; !there || !bytes.Equal(got, want) {
			return fmt.Errorf("%s is missing in %s or does not agree with the archives; build the release again", name, dir)
		}
		return nil
	}
	sums := sumsOf(summed)
	if err := same("SHA256SUMS", []byte(sums)); err != nil {
		return err
	}
	version, checked := "", 0
	for name, data := range summed {
		if !strings.HasSuffix(name, ".tar.gz") && !strings.HasSuffix(name, ".zip") {
			continue
		}
		raw, err := program(name, data)
		if err != nil {
			return err
		}
		b, err := inspect(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if b.archive() != name {
			return fmt.Errorf("%s holds the program of %s; build the release again", name, b.archive())
		}
		bill, err := sbom(b)
		if err != nil {
			return err
		}
		if err := same(b.name()+".cdx.json", bill); err != nil {
			return err
		}
		version = b.version()
		checked++
	}
	if checked == 0 {
		return fmt.Errorf("%s has no archive in it; build the release first", dir)
	}
	for name, text := range manifests(version, sums) {
		if err := same(name, text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(say, "%d archives of version %s: sums, SBOMs and manifests agree\n", checked, version)
	return err
}
