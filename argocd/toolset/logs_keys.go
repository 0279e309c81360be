package toolset

import (
	"strings"

	"github.com/plimsoll/plimsoll/argocd/redact"
)

const (
	// maxKeyLines bounds the lines of a private key. An RSA key of 8192 bits has a
	// hundred of 64 characters.
	maxKeyLines = 120
	// maxKeyPods bounds the pods that write a key at one time.
	maxKeyPods = 256
)

// keyLines are the pods in whose log a private key has begun, and the lines that may still belong to
// it. What a program logs comes line by line, so that no line of the key itself is recognised alone.
type keyLines map[string]int

// line masks a line of a pod, and cuts it, as logLine does.
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

// cutLast cuts text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// keyText reports whether a line may be one of a key: base64, with whatever a logger writes
// before it. The last line of a key may be short; then it stands alone.
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
