package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/plimsoll/plimsoll/limit"
)

// Hog does the work of the tool build's child: it takes so many MiB, touches every page of
// them and reports on out, in lines, the MiB it has. Then it holds them until in ends, or
// fails. in is the child's standard input: it ends with the process that started it, and
// then Hog returns at once, also while it is still taking.
//
// An argument that is no number from 1 to [MaxHog] is an error.
func Hog(mib string, in io.Reader, out io.Writer) error {
	want, err := strconv.Atoi(mib)
	if err != nil || want < 1 || want > int(MaxHog/limit.MiB) {
		return fmt.Errorf("%q MiB cannot be taken: give a number from 1 to %d", mib, MaxHog/limit.MiB)
	}
	if runtime.GOOS == "linux" {
		// Whoever has the least to lose should be ended first. Where this is not allowed the
		// kernel goes by size, which mostly is the same.
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
		// Lists of processes show the name of the program's file; this one is here under another.
		_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	var held [][]byte
	for taken := 0; taken < want; {
		select {
		case <-gone:
			return nil
		default:
		}
		step := min(int(hogStep/limit.MiB), want-taken)
		block := make([]byte, step<<20)
		for i := 0; i < len(block); i += pageBytes {
			block[i] = byte(i/pageBytes) | 1
		}
		held = append(held, block)
		taken += step
		if _, err := fmt.Fprintln(out, taken); err != nil {
			return nil // nobody listens any more
		}
	}
	<-gone
	runtime.KeepAlive(held)
	return nil
}
