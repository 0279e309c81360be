package admission

import (
	"os"
	"path/filepath"
	"time"
)

// Directories of other boots are removed when nothing was written there for bootKept, nobody
// holds the lock and no claim is held: another host may share the directory and be up for
// months. At most bootsAtOnce are looked at, and only those with at most
// bootClaims claim files; the rest waits for the next command.
const (
	bootKept    = 7 * 24 * time.Hour
	bootsAtOnce = 8
	bootClaims  = 256
)

// removeOldBoots is best effort: what it leaves costs a few kilobytes.
func (l *Ledger) removeOldBoots(boots string) {
	names, err := os.ReadDir(boots)
	if err != nil {
		return
	}
	looked := 0
	for _, name := range names {
		if !name.IsDir() || name.Name() == l.owner.Boot {
			continue
		}
		if looked++; looked > bootsAtOnce {
			return
		}
		if at, err := name.Info(); err == nil && time.Since(at.ModTime()) > bootKept {
			removeBoot(filepath.Join(boots, name.Name()))
		}
	}
}

func removeBoot(dir string) {
	old := &Ledger{dir: dir}
	lock, err := os.OpenFile(old.lockPath(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer lock.Close()
	if ok, err := tryLockFile(lock); err != nil || !ok {
		return
	}
	claims, err := os.ReadDir(old.claims())
	if err != nil && !os.IsNotExist(err) || len(claims) > bootClaims {
		return
	}
	for _, name := range claims {
		f, err := os.OpenFile(filepath.Join(old.claims(), name.Name()), os.O_RDWR, 0)
		if err != nil {
			return
		}
		ok, err := tryLockFile(f)
		f.Close()
		if err != nil || !ok {
			return
		}
	}
	// The lock goes last: until then nobody can begin to write here.
	_ = os.RemoveAll(old.claims())
	if rest, err := os.ReadDir(dir); err == nil {
		for _, name := range rest {
			if name.Name() != "lock" {
				_ = os.Remove(filepath.Join(dir, name.Name()))
			}
		}
	}
	_ = os.Remove(old.lockPath())
	_ = os.Remove(dir)
}
