package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// maxProgram is the most that is unpacked of an archive's program, in bytes.
const maxProgram = 200 << 20

// pack puts a program and other files into an archive. Its bytes depend on nothing else.
func pack(b *binary, others map[string][]byte, changed time.Time) ([]byte, error) {
	files := map[string][]byte{b.exe(): b.data}
	maps.Copy(files, others)
	var out bytes.Buffer
	put := writeTarGz
	if b.goos == "windows" {
		put = writeZip
	}
	if err := put(&out, b.name(), files, changed.UTC()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// mode returns a file's in the archive, whatever the umask was.
func mode(name string) int64 {
	if name == "plimsoll" || name == "plimsoll.exe" {
		return 0o755
	}
	return 0o644
}

// writeTarGz writes the files, below folder, as a tar archive compressed by gzip.
func writeTarGz(out io.Writer, folder string, files map[string][]byte, changed time.Time) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression) // without a name and a time in its header
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(folder, name), Size: int64(len(files[name])), Mode: mode(name),
			ModTime: changed, Format: tar.FormatUSTAR, // no owner has a name
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(files[name]); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

// writeZip writes the files, below folder, as a zip archive.
func writeZip(out io.Writer, folder string, files map[string][]byte, changed time.Time) error {
	w := zip.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: path.Join(folder, name), Method: zip.Deflate, Modified: changed}
		h.SetMode(os.FileMode(mode(name)))
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(files[name]); err != nil {
			return err
		}
	}
	return w.Close()
}

// extractProgram returns the program in an archive of this name.
func extractProgram(name string, data []byte) ([]byte, error) {
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f, err := z.Open(strings.TrimSuffix(name, ".zip") + "/plimsoll.exe")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxProgram))
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := tar.NewReader(unpacked)
	for {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s has no program in it: %w", name, err)
		}
		if h.Name == strings.TrimSuffix(name, ".tar.gz")+"/plimsoll" {
			return io.ReadAll(io.LimitReader(r, maxProgram))
		}
	}
}

// sumsOf writes what `sha256sum --check` reads, sorted by name.
func sumsOf(files map[string][]byte) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.String()
}
