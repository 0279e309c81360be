//go:build unix

package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// sharedDir is an open shared directory that was found fit. Files in it are opened by its descriptor, and a link is never followed.
type sharedDir struct {
	f    *os.File
	path string
}

// openShared opens a shared directory. It is an error unless the directory belongs to root (or to ourselves, which harms nobody else), has
// the sticky bit if others may write, so that nobody removes or replaces a file of another, and can be written.
func openShared(path string) (_ *sharedDir, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOTDIR) {
		return nil, errors.New("it is not a directory")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it is not there; an admin makes it: install -d -o root -m 1777 %s", path)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	uid := fileOwner(info)
	switch {
	case uid != 0 && uid != os.Geteuid():
		return nil, fmt.Errorf("it belongs to user %s, who could remove every claim in it; let it belong to root: chown root %s", userName(uid), path)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return nil, fmt.Errorf("others may write it and it has no sticky bit, so anybody could remove the claims of others; set it: chmod 1777 %s", path)
	}
	if err := unix.Faccessat(int(f.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return nil, fmt.Errorf("it cannot be written (%w); an admin opens it to all users: chmod 1777 %s", err, path)
	}
	return &sharedDir{f, path}, nil
}

// close closes the directory.
func (d *sharedDir) close() { d.f.Close() }

// fileOwner returns the uid of a file's owner, -1 when it is unknown.
func fileOwner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// open opens a file in the directory. It never follows a link, and never waits for the other end of a pipe.
func (d *sharedDir) open(name string, flags int, mode uint32) (*os.File, error) {
	path := filepath.Join(d.path, name)
	for {
		fd, err := unix.Openat(int(d.f.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, mode)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// unlink removes a name; of a link it removes the link itself.
func (d *sharedDir) unlink(name string) error { return unix.Unlinkat(int(d.f.Fd()), name, 0) }

// isUnlocked reports whether nobody holds a lock on f, by taking a shared one. A claim's file has its name only while its owner holds the exclusive
// lock, so a shared one that is granted proves that the owner is dead, and readers do not disturb each other.
func isUnlocked(f *os.File) (bool, error) { return filelock.Try(f, filelock.Shared) }

// scan returns the live claims of this boot, those of other users and our own. With tidy it removes what dead owners left: our own files,
// and as root everybody's; those of another boot or host when they are a week old.
func (d *sharedDir) scan(boot string, tidy bool) (sharedClaims, error) {
	names, err := d.f.Readdirnames(MaxShared + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return sharedClaims{}, err
	}
	var s sharedClaims
	if len(names) > MaxShared {
		names, s.more = names[:MaxShared], true
	}
	us, now := os.Geteuid(), time.Now()
	for _, name := range names {
		n, ok := parseNoteName(name)
		if !ok {
			continue
		}
		ours := n.uid == us
		sweep := tidy && (ours || us == 0)
		switch {
		case n.draft:
			if sweep {
				d.removeIfDead(n, now, draftKept)
			}
		case n.boot != boot:
			if sweep {
				d.removeIfDead(n, now, bootKept)
			}
		default:
			about, live, err := d.readNote(n)
			switch {
			case errors.Is(err, fs.ErrNotExist): // released meanwhile
			case err != nil:
				s.odd = append(s.odd, fmt.Sprintf("%s: %v", name, err))
			case live && ours:
				s.own = append(s.own, about.toHolder(now))
			case live:
				s.others = append(s.others, about.toHolder(now))
			case sweep:
				d.removeIfDead(n, now, 0)
			}
		}
	}
	sortHolders(s.others)
	return s, nil
}

// checkFile returns the info of an open claim's file. It is an error when that is not a regular file of the user in its name.
func (n noteName) checkFile(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case fileOwner(info) != n.uid:
		return nil, fmt.Errorf("it belongs to user %s, not to %s", userName(fileOwner(info)), userName(n.uid))
	}
	return info, nil
}

// isHeld reports whether our own user's claim id is held now.
func (d *sharedDir) isHeld(boot, id string) bool {
	_, live, err := d.readNote(noteName{boot: boot, uid: os.Geteuid(), id: id})
	return err == nil && live
}

// rereads is the number of times that a file which looks broken is read: its owner may have been writing.
const rereads = 3

// readNote reads a claim's file; live is false if its owner is dead. The file may be read while its owner writes it, so it is tried a few times.
func (d *sharedDir) readNote(n noteName) (about note, live bool, err error) {
	f, err := d.open(n.String(), unix.O_RDONLY, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) { // EMLINK: FreeBSD
		return note{}, false, errors.New("it is a symbolic link")
	}
	if err != nil {
		return note{}, false, err
	}
	defer f.Close()
	if _, err := n.checkFile(f); err != nil {
		return note{}, false, err
	}
	if dead, err := isUnlocked(f); err != nil || dead {
		return note{}, false, err
	}
	for range rereads {
		var text []byte
		text, err = io.ReadAll(io.NewSectionReader(f, 0, maxNote+1))
		if err != nil {
			break
		}
		if len(text) > maxNote {
			err = fmt.Errorf("it is larger than %d bytes", maxNote)
			break
		}
		if about, err = parseNote(text, n); err == nil {
			return about, true, nil
		}
	}
	return note{}, false, err
}

// removeIfDead removes a claim's file if its owner is dead and it was not written for age. With 0 its age does not matter.
func (d *sharedDir) removeIfDead(n noteName, now time.Time, age time.Duration) {
	f, err := d.open(n.String(), unix.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := n.checkFile(f)
	if err != nil || age > 0 && now.Sub(info.ModTime()) <= age {
		return
	}
	if dead, err := isUnlocked(f); err == nil && dead {
		_ = d.unlink(n.String())
	}
}

// lock takes the exclusive lock under which the decisions of all users are made. After patience the error is [ErrSharedLocked]. It polls: a user
// may keep this lock for ever, and each wait in the kernel that is given up leaves a thread behind.
func (d *sharedDir) lock(ctx context.Context, patience time.Duration) (*os.File, error) {
	pause, waited := 200*time.Microsecond, time.Duration(0)
	for {
		f, err := d.tryLock()
		if f != nil || err != nil && !errors.Is(err, fs.ErrPermission) { // not permitted: perhaps being made just now
			return f, err
		}
		if waited >= patience {
			if err == nil {
				err = ErrSharedLocked
			}
			return nil, err
		}
		failpoint("shared lock busy")
		nap := pause/2 + rand.N(pause)
		if err := sleep(ctx, nap); err != nil {
			return nil, err
		}
		waited += nap
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// sharedLock is the name of the lock.
const sharedLock = "lock"

// tryLock takes the lock if it is free, and returns nil, nil while another process has it. The lock file is opened for reading only, so that
// nobody can fill a file of another user. Its mode is set regardless of the umask, which could lock everybody else out.
func (d *sharedDir) tryLock() (_ *os.File, err error) {
	f, err := d.open(sharedLock, unix.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.open(sharedLock, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil, nil
		}
		if err == nil {
			err = f.Chmod(0o644)
		}
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	ours, err := f.Stat()
	if err == nil && !ours.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", f.Name())
	}
	var ok bool
	if err == nil {
		ok, err = filelock.Try(f, filelock.Exclusive)
	}
	if err == nil && ok {
		if there, statErr := os.Lstat(f.Name()); filelock.Named(f, there, statErr) {
			return f, nil
		}
	}
	f.Close()
	return nil, err
}

// sharedClaim is a claim's file in the shared directory, locked.
type sharedClaim struct {
	f    *os.File
	path string
	note note
}

// publish makes a claim's file, locked until the claim is removed. The file gets its final name only when it is filled and locked, and until then
// nobody else may open it: so a file with that name and no lock has a dead owner.
func (d *sharedDir) publish(n note) (_ *sharedClaim, err error) {
	draft := noteName{boot: n.Boot, uid: n.UID, id: n.ID, draft: true}
	name := draft
	name.draft = false
	f, err := d.open(draft.String(), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = d.unlink(draft.String())
			f.Close()
		}
	}()
	ok, err := filelock.Try(f, filelock.Exclusive)
	if err == nil && !ok {
		err = errors.New("somebody else has locked its new file")
	}
	if err != nil {
		return nil, err
	}
	c := &sharedClaim{f: f, path: filepath.Join(d.path, name.String()), note: n}
	if err := c.writeNote(); err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, err
	}
	failpoint("shared written")
	err = unix.Renameat(int(d.f.Fd()), draft.String(), int(d.f.Fd()), name.String())
	return c, err
}

// removeFile removes the file at the claim's path, if it is still the one that this claim has open. Then it closes the file, which releases the lock.
func (c *sharedClaim) removeFile() {
	if ours, err := c.f.Stat(); err == nil {
		if named, err := os.Lstat(c.path); err == nil && os.SameFile(ours, named) {
			_ = os.Remove(c.path)
		}
	}
	c.f.Close()
}

// writeNote writes the note over the content of the claim's file; all notes have the same size.
func (c *sharedClaim) writeNote() error {
	text, err := c.note.encode()
	if err != nil {
		return err
	}
	_, err = c.f.WriteAt(text, 0)
	return err
}
