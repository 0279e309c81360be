//go:build unix

package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// What is posted again is there once.
func TestPost(t *testing.T) {
	s := natsserver.Start(t)
	b := open(t, fleet.Options{URL: s.URL}).Bucket(fleet.History)
	var posts []fleet.Post
	for i := range 300 {
		posts = append(posts, fleet.Post{Key: fmt.Sprintf("k.%d", i%10), ID: fmt.Sprint("id", i), Value: fmt.Append(nil, i)})
	}
	for range 2 {
		done, err := b.Post(t.Context(), posts)
		if err != nil {
			t.Fatal(err)
		}
		for i, ok := range done {
			if !ok {
				t.Errorf("post %d is not written", i)
			}
		}
	}
	if status, err := b.Status(t.Context()); err != nil || status.Values != 300 || status.Replicas != 1 || status.Servers != 1 || status.Server == "" {
		t.Errorf("%+v %v", status, err)
	}
	all, err := b.Values(t.Context(), "k.3")
	if err != nil || len(all) != 30 || string(all[0].Value) != "3" || string(all[29].Value) != "293" || all[0].Key != "k.3" || all[0].Revision == 0 || time.Since(all[0].Time) > time.Hour {
		t.Errorf("%d values of %+v, %v", len(all), all[:1], err)
	}
	remove(t, s.URL, "k.3")
	if all, err = b.Values(t.Context(), "k.3"); err != nil || len(all) != 31 || !all[30].Gone || all[29].Gone {
		t.Errorf("%d values after it was deleted, %v", len(all), err)
	}
	s.Kill()
	wait.Until(t, "what is not written is told", func() bool {
		done, err := b.Post(t.Context(), []fleet.Post{{Key: "k.4", ID: "late", Value: []byte("x")}})
		return errors.Is(err, fleet.ErrAway) && len(done) == 1 && !done[0]
	})
}

// A caller without time costs the others nothing: the attempt goes on, and the next one finds the connection.
func TestSlowServer(t *testing.T) {
	s, dir := natsserver.Start(t), t.TempDir()
	s.Signal(syscall.SIGSTOP)
	f := open(t, fleet.Options{URL: s.URL, Dir: dir})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Bucket(fleet.History).Get(ctx, "k"); !errors.Is(err, fleet.ErrAway) {
		t.Error(err)
	}
	s.Signal(syscall.SIGCONT)
	if _, err := f.Bucket(fleet.History).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrNone) {
		t.Error(err)
	}
	if _, err := open(t, fleet.Options{URL: s.URL, Dir: dir}).Bucket(fleet.History).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrNone) {
		t.Errorf("it was told to be away: %v", err)
	}
	f.Close()
	if _, err := f.Bucket(fleet.History).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrAway) {
		t.Error(err)
	}
}
