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

// token returns the token in the file, which is read again only if the file has changed.
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

// readToken reads the token in a file, without "Bearer " and white space. An empty file, or one without a valid token, is an error.
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

// tokenVariables returns the environment variables for the token; the first that is set is used.
func tokenVariables() []string {
	return []string{"ARGOCD_AUTH_TOKEN", "ARGOCD_AUTH_TOKEN_FILE", "ARGOCD_API_TOKEN", "ARGOCD_TOKEN", "ARGOCD_TOKEN_FILE"}
}

// chooseToken sets d.found.Token to the first of the credentials, and warns of others that are not used, and if there is none. A token that
// cannot be one, or a token file that cannot be read, is an error.
func (d *discovery) chooseToken(user *configUser) error {
	type credential struct {
		source, value string
		file          bool
	}
	var all []credential
	fromFile := func() {
		if user != nil && user.token != "" {
			all = append(all, credential{source: fmt.Sprintf("the token of %q in %s", user.name, d.file.path), value: user.token})
		}
	}
	if d.o.Context != "" && d.o.Server == "" {
		fromFile()
	}
	if d.flags.token != "" {
		all = append(all, credential{source: "--auth-token in ARGOCD_OPTS", value: d.flags.token})
	}
	for _, name := range tokenVariables() {
		if value := d.trimmedEnv(name); value != "" {
			all = append(all, credential{name, value, strings.HasSuffix(name, "_FILE")})
		}
	}
	if d.o.Context == "" || d.o.Server != "" {
		fromFile()
	}
	if len(all) == 0 {
		d.addWarning("there is no token: only what is open to everyone can be read; set ARGOCD_AUTH_TOKEN, or log in with argocd login")
		return nil
	}
	chosen := all[0]
	for _, other := range all[1:] {
		if other.file != chosen.file || bearer(other.value) != bearer(chosen.value) {
			d.addWarning("%s is used as the credential, and %s is not", chosen.source, other.source)
		}
	}
	if chosen.file {
		if info, err := os.Stat(chosen.value); err == nil {
			d.warnOpen(chosen.value, info)
		}
		if _, err := readToken(chosen.value); err != nil {
			return fmt.Errorf("%s: %w", chosen.source, err)
		}
		d.found.Token = FileToken(chosen.value)
		return nil
	}
	token := bearer(chosen.value)
	if err := checkToken(token); err != nil {
		return fmt.Errorf("%s: %w", chosen.source, err)
	}
	d.found.Token = StaticToken(token)
	return nil
}
