//go:build !unix

package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// errNoSharing is the error of every attempt to share: between users who do not trust each other that needs owners of files, sticky
// directories, and advisory locks.
var errNoSharing = fmt.Errorf("users do not share claims on %s: %w", runtime.GOOS, errors.ErrUnsupported)

// sharedDir and sharedClaim are never made here.
type (
	sharedDir   struct{}
	sharedClaim struct{ note note }
)

func openShared(string) (*sharedDir, error) { return nil, errNoSharing }

func (*sharedDir) close() {}

func (*sharedDir) scan(string, bool) (sharedClaims, error) { return sharedClaims{}, errNoSharing }

func (*sharedDir) holds(string, string) bool { return false }

// lock takes the exclusive lock under which the decisions of all users are made. After patience the error is [ErrSharedLocked]. It polls: a user
// may keep this lock for ever, and each wait in the kernel that is given up leaves a thread behind.
func (*sharedDir) lock(context.Context, time.Duration) (*os.File, error) { return nil, errNoSharing }

// publish makes a claim's file, locked until the claim is removed. The file gets its final name only when it is filled and locked, and until then
// nobody else may open it: so a file with that name and no lock has a dead owner.
func (*sharedDir) publish(note) (*sharedClaim, error) { return nil, errNoSharing }

// write writes the note over the content of the claim's file; all notes have the same size.
func (*sharedClaim) write() error { return errNoSharing }

// remove removes the file at the claim's path, if it is still the one that this claim has open. Then it closes the file, which releases the lock.
func (*sharedClaim) remove() {}
