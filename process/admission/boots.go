package admission

import (
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// Directories of other boots are removed when nothing was written there for bootKept, nobody
// holds the lock and no claim is held: another host may share the directory and be up for
// months. A start looks at no more than bootsAtOnce
// of that age, and only at those with at most bootClaims claim files.
const (
	bootKept    = 7 * 24 * time.Hour
	bootsAtOnce = 8
	bootClaims  = 256
)

// Old returns the directories of ledgers of earlier boots and other hosts that nobody uses any more. With remove it removes them, and
// returns those that it could remove. It looks at 1024 at most.
func (l *Ledger) Old(remove bool) []string {
	if remove {
		return l.forOldBoots(maxBoots, removeBoot)
	}
	return l.forOldBoots(maxBoots, isBootUnused)
}

// maxBoots bounds [Ledger.Old].
const maxBoots = 1024

// forOldBoots calls do for the directories of other boots that are older than bootKept, at most maxDirs of them, and returns those for which do
// returned true. Errors are ignored: a directory that stays costs a few kilobytes.
func (l *Ledger) forOldBoots(maxDirs int, do func(dir string) bool) (done []string) {
	boots := filepath.Dir(l.dir)
	names, err := os.ReadDir(boots)
	if err != nil {
		return nil
	}
	looked := 0
	for _, name := range names {
		if !name.IsDir() || name.Name() == l.owner.Boot {
			continue
		}
		at, err := name.Info()
		if err != nil || time.Since(at.ModTime()) <= bootKept {
			continue
		}
		if looked++; looked > maxDirs {
			break
		}
		if dir := filepath.Join(boots, name.Name()); do(dir) {
			done = append(done, dir)
		}
	}
	return done
}

// isBootUnused reports whether nobody holds the lock or a claim of the ledger in dir. It makes no file: a new one would make the directory young
// again. What cannot be read counts as used.
func isBootUnused(dir string) bool {
	old := &Ledger{dir: dir}
	lock, err := openRegular(old.lockPath(), os.O_RDWR)
	if os.IsNotExist(err) {
		return old.noClaimHeld()
	}
	if err != nil {
		return false
	}
	defer lock.Close()
	ok, err := filelock.Try(lock, filelock.Exclusive)
	return err == nil && ok && old.noClaimHeld()
}

// lockIfUnused takes the lock of the ledger in dir, unless somebody has it or holds a claim there. The caller closes the file.
func lockIfUnused(dir string) (*os.File, bool) {
	old := &Ledger{dir: dir}
	lock, err := openRegular(old.lockPath(), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, false
	}
	if ok, err := filelock.Try(lock, filelock.Exclusive); err != nil || !ok || !old.noClaimHeld() {
		lock.Close()
		return nil, false
	}
	return lock, true
}

// noClaimHeld reports whether none of the claims' files is locked. It returns false if there are too many of them or one cannot be read.
func (l *Ledger) noClaimHeld() bool {
	claims, err := os.ReadDir(l.claimsDir())
	if err != nil && !os.IsNotExist(err) || len(claims) > bootClaims {
		return false
	}
	for _, name := range claims {
		f, err := openRegular(filepath.Join(l.claimsDir(), name.Name()), os.O_RDWR)
		if err != nil {
			return false
		}
		ok, err := filelock.Try(f, filelock.Exclusive)
		f.Close()
		if err != nil || !ok {
			return false
		}
	}
	return true
}

// removeBoot removes the directory of another boot's ledger, and reports whether it is gone. It is kept if somebody still uses it.
func removeBoot(dir string) bool {
	lock, ok := lockIfUnused(dir)
	if !ok {
		return false
	}
	defer lock.Close()
	old := &Ledger{dir: dir}
	// The lock goes last: until then nobody can begin to write here.
	_ = os.RemoveAll(old.claimsDir())
	_ = os.RemoveAll(old.notifierPath(""))
	if rest, err := os.ReadDir(dir); err == nil {
		for _, name := range rest {
			if name.Name() != "lock" {
				_ = os.Remove(filepath.Join(dir, name.Name()))
			}
		}
	}
	_ = os.Remove(old.lockPath())
	return os.Remove(dir) == nil
}
