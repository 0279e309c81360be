package argocd

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a command that notes each time it runs, and does what body says.
func script(t *testing.T, body string) (argv []string, runs func() int) {
	t.Helper()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "token"), filepath.Join(dir, "runs")
	if err := os.WriteFile(file, fmt.Appendf(nil, "#!/bin/sh\necho >>%s\n%s\n", log, body), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{file}, func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "\n")
	}
}

func jwt(ends time.Time) string {
	return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, ends.Unix())) + ".c2ln"
}

func TestCommandTokenIsKeptUntilItEnds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		token string
		good  time.Duration
	}{
		"opaque":       {"SECRET", tokenKept},
		"an hour":      {jwt(now.Add(time.Hour)), time.Hour - tokenEarly},
		"ended":        {jwt(now.Add(-time.Hour)), 0},
		"without exp":  {"e30.e30.c2ln", tokenKept},
		"bearer as is": {"Bearer SECRET", tokenKept},
	} {
		argv, runs := script(t, "echo '"+c.token+"'")
		at := now
		k := &tokenCommand{argv: argv, now: func() time.Time { return at }, turn: make(chan struct{}, 1)}
		for range 3 {
			if got, err := k.token(t.Context()); err != nil || got != bearer(c.token) {
				t.Fatalf("%s: %q, %v", name, got, err)
			}
		}
		want := 1
		if c.good == 0 {
			want = 3
		}
		if n := runs(); n != want {
			t.Errorf("%s: run %d times, want %d", name, n, want)
		}
		at = now.Add(c.good)
		if _, err := k.token(t.Context()); err != nil || runs() != want+1 {
			t.Errorf("%s: run %d times at its end, %v", name, runs(), err)
		}
	}
}

func TestCommandTokenIsRunOnceForAll(t *testing.T) {
	t.Parallel()
	argv, runs := script(t, "sleep 0.2; echo SECRET")
	token := CommandToken(argv)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := token(t.Context()); err != nil || got != "SECRET" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := runs(); n != 1 {
		t.Errorf("run %d times", n)
	}
}

func TestCommandTokenThatFails(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"echo no ticket >&2; exit 3":            "exit status 3: no ticket",
		"true":                                  "printed no token",
		"echo a b":                              "a character in it that no token has",
		"head -c 100000 /dev/zero | tr '\\0' x": "larger than 65536 bytes",
	} {
		argv, _ := script(t, body)
		if got, err := CommandToken(argv)(t.Context()); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	if _, err := CommandToken([]string{"/nosuch/command"})(t.Context()); err == nil || !strings.Contains(err.Error(), "/nosuch/command") {
		t.Errorf("%v", err)
	}
	argv, _ := script(t, "sleep 60; echo SECRET")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := CommandToken(argv)(ctx); err == nil {
		t.Error("a request that has ended got a token")
	}
}

func FuzzExpiry(f *testing.F) {
	f.Add(jwt(time.Unix(1_800_000_000, 0)))
	f.Add("e30.eyJleHAiOjFlOTk5fQ.c2ln")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if at, ok := expiryOf(token); ok && (at.Unix() <= 0 && at.Nanosecond() != 0 || at.Unix() > 1<<40) {
			t.Errorf("%s", at)
		}
	})
}
