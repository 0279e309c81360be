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
	notifiers := pipeNotifiers{l}
	b, err := notifiers.listen("me")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	notifiers.wake("me") // before it sleeps
	notifiers.wake("nobody")
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("it was not woken: %v", err)
	}
	time.AfterFunc(time.Millisecond, func() { notifiers.wake("me") })
	if err := b.wait(ctx, time.Hour); err != nil {
		t.Errorf("it was not woken: %v", err)
	}
	notifiers.watch("me")
	watched := time.Now()
	if err := b.wait(ctx, time.Hour); err != nil || time.Since(watched) < lookFirst/2 {
		t.Errorf("told to watch, it slept %v (%v)", time.Since(watched), err)
	}
	notifiers.watch("me")
	notifiers.wake("me")
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
	if err := os.WriteFile(l.notifierPath("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	notifiers.wake("file")
	if text, err := os.ReadFile(l.notifierPath("file")); err != nil || len(text) > 0 {
		t.Errorf("what is no pipe was written to: %q (%v)", text, err)
	}
}
