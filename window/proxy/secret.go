package proxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

const secretBytes = 32

// LoadSecret reads the secret of this installation from a file of mode 0600, or makes it.
// Credentials are kept only as an HMAC under it: whoever finds the store can neither read
// a key in it nor test a guessed one against it.
func LoadSecret(file string) ([]byte, error) {
	secret, err := readSecret(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	secret = make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	if err := createOnce(file, hex.AppendEncode(nil, secret)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keep the secret of this installation: %w", err)
	}
	return readSecret(file) // two that start at once agree on the first one's
}

// createOnce writes a complete file under a name that must be new: of two processes that
// start at once, one wins and neither sees half a file.
func createOnce(file string, body []byte) error {
	temporary := file + ".new-" + rand.Text()
	if err := atomicfile.Write(temporary, body, 0o600); err != nil {
		return err
	}
	defer os.Remove(temporary)
	if err := os.Link(temporary, file); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links: the last writer wins, which only a start at the
	// same moment could notice.
	return atomicfile.Rename(func() error { return os.Rename(temporary, file) })
}

func readSecret(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users (mode %04o): run chmod 600 on it", file, info.Mode().Perm())
	}
	text := make([]byte, 2*secretBytes+1)
	n, _ := f.Read(text)
	secret := make([]byte, secretBytes)
	if n != 2*secretBytes {
		return nil, fmt.Errorf("%s is damaged (%d bytes, want %d): remove it, and stored conversations start anew", file, info.Size(), 2*secretBytes)
	}
	if _, err := hex.Decode(secret, text[:n]); err != nil {
		return nil, fmt.Errorf("%s is damaged (not hexadecimal): remove it, and stored conversations start anew", file)
	}
	return secret, nil
}

// scope names what a credential may see, without naming the credential.
func (p *Proxy) scope(upstream, credential string) string {
	m := hmac.New(sha256.New, p.o.Secret)
	m.Write([]byte(upstream))
	m.Write([]byte{0})
	m.Write([]byte(credential))
	return hex.EncodeToString(m.Sum(nil)[:16])
}
