package store

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// KeptDamaged is the number of damaged files that stay in a directory; the oldest go.
	KeptDamaged = 16
	// damaged stands in the name of each, before the time.
	damaged = ".damaged-"
	// damagedTime is the form of that.
	damagedTime = "20060102T150405.000000000"
	// damagedRandom is the number of random letters behind it.
	damagedRandom = 6
	// maxNames bounds the names of a directory that are looked at.
	maxNames = 1 << 16
)

// DamagedName returns the name under which the damaged file of a name is kept.
func DamagedName(name string) string {
	return name + damaged + time.Now().UTC().Format(damagedTime) + "-" + rand.Text()[:damagedRandom]
}

// IsDamaged reports whether a file was set aside. Other names may have those letters in them too.
func IsDamaged(name string) bool {
	i := strings.LastIndex(name, damaged)
	if i < 0 {
		return false
	}
	at, random, _ := strings.Cut(name[i+len(damaged):], "-")
	_, err := time.Parse(damagedTime, at)
	return err == nil && len(random) == damagedRandom && !strings.Contains(random, ".")
}

// SetAside renames a damaged file and returns its new name, which stays in the directory. The oldest of those there beyond [KeptDamaged] are
// removed.
func SetAside(root *os.Root, name string) (aside string, err error) {
	aside = DamagedName(name)
	if err := root.Rename(name, aside); err != nil {
		return "", err
	}
	PruneDamaged(root)
	return aside, nil
}

// SetAsidePath is [SetAside] for a path.
func SetAsidePath(path string) (aside string, err error) {
	root, err := statefile.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := SetAside(root, filepath.Base(path))
	return filepath.Join(filepath.Dir(path), name), err
}

// PruneDamaged removes the oldest files that were set aside in a directory, but for [KeptDamaged] of them.
func PruneDamaged(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	var kept []string
	for seen := 0; seen < maxNames; {
		names, err := dir.Readdirnames(256)
		seen += len(names)
		for _, name := range names {
			if IsDamaged(name) {
				kept = append(kept, name)
			}
		}
		if errors.Is(err, io.EOF) || len(names) == 0 {
			break
		}
	}
	if len(kept) <= KeptDamaged {
		return
	}
	slices.SortFunc(kept, func(a, b string) int { return strings.Compare(stamp(a), stamp(b)) })
	for _, name := range kept[:len(kept)-KeptDamaged] {
		_ = root.Remove(name) // not what is in a folder
	}
}

func stamp(name string) string { return name[strings.LastIndex(name, damaged):] }
