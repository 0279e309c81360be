package toolset

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd/redact"
)

const (
	// maxKeyLines bounds the lines of a private key. An RSA key of 8192 bits has a hundred lines of 64
	// characters.
	maxKeyLines = 120
	// maxKeyPods bounds the pods in whose logs a key is masked at one time.
	maxKeyPods = 256
)

// keyLines maps each pod in whose log a private key has begun to the number of lines that may still belong to the key. Logs come line by
// line, and no line of a key can be recognised alone.
type keyLines map[string]int

// line returns a line of a pod as logLine does, or the mask if the line may belong to a private key.
func (k keyLines) line(pod, text string) string {
	left := k[pod]
	_, begins, _ := cutLast(text, "-----BEGIN ")
	switch {
	case strings.Contains(begins, "PRIVATE KEY") && !strings.Contains(begins, "-----END "):
		if len(k) < maxKeyPods {
			k[pod] = maxKeyLines
		}
	case left == 0:
	case strings.Contains(text, "-----END "):
		delete(k, pod)
	default:
		if k[pod]--; left == 1 {
			delete(k, pod)
		}
		if keyText(text) {
			return redact.Hidden
		}
	}
	return logLine(text)
}

// cutLast cuts text around the last separator; without one, before is all of it.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// keyText reports whether a line may belong to a key: base64, perhaps behind a logger's prefix. The last line of a key may be short; then
// it must stand alone.
func keyText(line string) bool {
	fields := strings.Fields(plainText(line))
	if len(fields) == 0 {
		return false
	}
	last := strings.Trim(strings.TrimSuffix(fields[len(fields)-1], `\n`), "\"',|")
	for i := range len(last) {
		switch c := last[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return len(fields) == 1 || len(last) >= 24
}
