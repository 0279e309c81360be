package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// maxToken bounds a token, in bytes. Tokens with many groups have some KiB; servers accept headers of at most 16 KiB (nginx) or 1 MiB (Go).
const maxToken = 64 << 10

// StaticToken returns a function for [Options].Token that always returns token.
func StaticToken(token string) func(context.Context) (string, error) {
	token = bearer(token)
	return func(context.Context) (string, error) { return token, nil }
}

// FileToken returns a function for [Options].Token that returns the token in a file, which is read again when it has changed, as with
// mounted secrets. If the file cannot be read, is empty or larger than 64 KiB, the request fails.
func FileToken(path string) func(context.Context) (string, error) {
	f := &tokenFile{path: path}
	return f.token
}

type tokenFile struct {
	path string

	mu    sync.Mutex
	info  os.FileInfo
	read  time.Time
	value string
}

func (f *tokenFile) token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	// A file that was written just before it was read may have changed again within the same time stamp.
	if f.info != nil && os.SameFile(f.info, info) && info.Size() == f.info.Size() &&
		info.ModTime().Equal(f.info.ModTime()) && f.read.Sub(info.ModTime()) > 2*time.Second {
		return f.value, nil
	}
	read := time.Now()
	value, err := readToken(f.path)
	if err != nil {
		return "", err
	}
	f.info, f.read, f.value = info, read, value
	return value, nil
}

func readToken(path string) (string, error) {
	data, err := readSmall(path, maxToken)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	token := bearer(string(data))
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty; write the token into it", path)
	}
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("the token file %s: %w", path, err)
	}
	return token, nil
}

// readSmall reads a regular file of at most maxBytes; a larger one is an error.
func readSmall(path string, maxBytes int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would wait for ever
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(data)) > maxBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxBytes)
	}
	return data, err
}

// bearer returns the token in a text that people paste, without "Bearer" and white space.
func bearer(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 7 && strings.EqualFold(text[:7], "bearer ") {
		text = strings.TrimSpace(text[7:])
	}
	return text
}

// checkToken returns an error for a token that is too large or that a header cannot carry. The error does not contain it.
func checkToken(token string) error {
	if len(token) > maxToken {
		return fmt.Errorf("the token is larger than %d bytes", maxToken)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return errors.New("the token has a character in it that no token has (white space, a control character, or one beyond ASCII); paste it again")
		}
	}
	return nil
}
