//go:build unix

package admission

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func TestBellWakesOneWaiter(t *testing.T) {
	l := open(t)
	bells := pipeBells{l}
	b, err := bells.listen("me")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bells.ring("me") // before it sleeps
	bells.ring("nobody")
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("it was not woken: %v", err)
	}
	time.AfterFunc(time.Millisecond, func() { bells.ring("me") })
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("it was not woken: %v", err)
	}
	bells.watch("me")
	watched := time.Now()
	if err := b.wait(ctx, time.Hour); err != nil || time.Since(watched) < lookFirst/2 {
		t.Errorf("told to watch, it slept %v (%v)", time.Since(watched), err)
	}
	bells.watch("me")
	bells.ring("me")
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("rung after it was told to watch: %v", err)
	}
	gone, cancelGone := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(time.Millisecond, func() { cancelGone(why) })
	if err := b.wait(gone, time.Hour); !errors.Is(err, why) {
		t.Errorf("interrupted, it says %v", err)
	}
	if err := b.wait(ctx, time.Millisecond); err != nil {
		t.Errorf("after its time, it says %v", err)
	}
	if err := os.WriteFile(l.bellPath("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bells.ring("file")
	if text, err := os.ReadFile(l.bellPath("file")); err != nil || len(text) > 0 {
		t.Errorf("what is no pipe was written to: %q (%v)", text, err)
	}
}
