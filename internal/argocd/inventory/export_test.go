package inventory

import "github.com/plimsoll/plimsoll/internal/argocd"

// Row makes the summary of a whole object.
func Row(kind argocd.Kind, item []byte) ([]byte, error) {
	e, err := readEntry(kind, item)
	if err != nil {
		return nil, err
	}
	return e.row(), nil
}
