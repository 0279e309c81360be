package admission

import (
	"errors"
	"io"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// claimNames returns the IDs of claims by their files, at most most of them, without a lock. all is true when there are no more. The error
// wraps [io/fs.ErrNotExist] where no run has ever been.
func (l *Ledger) claimNames(most int) (ids []string, all bool, err error) {
	root, err := statefile.OpenRoot(l.claims()) // a pipe in its place holds nobody up
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(4 * most) // a claim has up to three files
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	for _, name := range names {
		if id, is := strings.CutSuffix(name, ".json"); is && ValidID(id) && len(ids) < most {
			ids = append(ids, id)
		}
	}
	return ids, len(names) < 4*most, nil
}
