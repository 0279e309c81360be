package systemd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// variable matches the name of a credential that takes the place of a variable of the environment.
var variable = lazy.Regexp(`^[A-Z][A-Z0-9_]*$`)

// Bounds of what is read: keys and tokens are short. systemd itself takes 1 MiB for all credentials of a unit.
const (
	maxCredential  = 64 << 10 // bytes
	maxCredentials = 256
)

// credentials sets a variable for each file in dir that is called like one: LoadCredential=OPENAI_API_KEY:FILE. Other files
// are left alone. White space at the end is none of it. The words of an error never hold what a file holds.
func credentials(dir string, set func(name, value string) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	names, err := d.Readdirnames(maxCredentials + 1)
	_ = d.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %w", err)
	}
	if len(names) > maxCredentials {
		return fmt.Errorf("CREDENTIALS_DIRECTORY: %s holds more than %d files; give the service those that it needs", dir, maxCredentials)
	}
	for _, name := range names {
		if !variable().MatchString(name) {
			continue
		}
		value, err := credential(root, name)
		if err == nil {
			err = set(name, value)
		}
		if err != nil {
			return fmt.Errorf("the credential %s: %w; correct the file that LoadCredential=%s:… names", name, err, name)
		}
	}
	return nil
}

func credential(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredential+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxCredential:
		return "", fmt.Errorf("it is larger than %d bytes", maxCredential)
	case bytes.IndexByte(text, 0) >= 0:
		return "", errors.New("it holds a zero byte, which no variable can")
	}
	value := strings.TrimRight(string(text), " \t\r\n")
	if value == "" {
		return "", errors.New("it is empty")
	}
	return value, nil
}
