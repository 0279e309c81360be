package atomicfile

import (
	"errors"
	"runtime"
	"testing"
)

func TestRenameIsTriedAgainOnWindowsOnly(t *testing.T) {
	calls, busy := 0, errors.New("in use")
	err := retryRename(func() error {
		if calls++; calls < 3 {
			return busy
		}
		return nil
	})
	wantCalls, want := 1, busy
	if runtime.GOOS == "windows" {
		wantCalls, want = 3, nil
	}
	if calls != wantCalls || !errors.Is(err, want) {
		t.Errorf("%d calls, %v; want %d, %v", calls, err, wantCalls, want)
	}
}
