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

func (*sharedDir) isHeld(string, string) bool { return false }

// lock returns an error: no directory is shared between users here.
func (*sharedDir) lock(context.Context, time.Duration) (*os.File, error) { return nil, errNoSharing }

// publish returns an error, as lock does.
func (*sharedDir) publish(note) (*sharedClaim, error) { return nil, errNoSharing }

// writeNote returns an error, as lock does.
func (*sharedClaim) writeNote() error { return errNoSharing }

// removeFile does nothing: there is no file.
func (*sharedClaim) removeFile() {}
