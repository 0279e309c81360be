//go:build unix

package usage

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestOffReasons(t *testing.T) {
	t.Parallel()
	h := Open(t.TempDir(), Options{})
	for errno, want := range map[syscall.Errno]OffReason{
		syscall.EROFS: OffReadOnly, syscall.EACCES: OffReadOnly, syscall.EPERM: OffReadOnly,
		syscall.ENOSPC: OffFull, syscall.EDQUOT: OffFull, syscall.EIO: OffFailed,
	} {
		err := h.offError("/state/x", &os.PathError{Op: "write", Path: "x", Err: errno})
		if off, ok := errors.AsType[*OffError](err); !ok || off.Reason != want || !errors.Is(err, errno) {
			t.Errorf("%v: got %v, want the reason %q", errno, err, want)
		}
	}
}
