package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

func open(t *testing.T, o fleet.Options) *fleet.Fleet {
	t.Helper()
	f := fleet.New(o)
	t.Cleanup(f.Close)
	return f
}

// remove removes a key from the history, as the server does when its time is over.
func remove(t *testing.T, url, key string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	kv, err := js.KeyValue(t.Context(), "plimsoll_history")
	if err == nil {
		err = kv.Delete(t.Context(), key)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestValues(t *testing.T) {
	s := natsserver.Start(t)
	b := open(t, fleet.Options{URL: s.URL}).Bucket(fleet.History)
	key := fleet.Key("claude code", "/src/a.b", "")
	if _, err := b.Get(t.Context(), key); !errors.Is(err, fleet.ErrNone) {
		t.Fatal(err)
	}
	for i := range 70 {
		if _, err := b.Put(t.Context(), key, []byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.Values(t.Context(), key)
	if err != nil || len(all) != 64 || string(all[0].Value) != "6" || string(all[63].Value) != "69" || all[0].Key != key {
		t.Errorf("%d values, %v", len(all), err)
	}
	if _, err := b.Write(t.Context(), key, nil, 0); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("a key that there is was made: %v", err)
	}
	remove(t, s.URL, key)
	if _, err := b.Get(t.Context(), key); !errors.Is(err, fleet.ErrNone) {
		t.Error(err)
	}
	if none, err := b.Values(t.Context(), "other"); err != nil || none != nil {
		t.Error(none, err)
	}
}

// Hosts that change one key at once lose nothing.
func TestChange(t *testing.T) {
	s := natsserver.Start(t)
	const hosts, times = 10, 20
	var wg sync.WaitGroup
	for range hosts {
		b := open(t, fleet.Options{URL: s.URL}).Bucket(fleet.Budgets)
		wg.Go(func() {
			for range times {
				err := b.Change(t.Context(), "sum", func(old fleet.Entry) ([]byte, error) {
					n, _ := strconv.Atoi(string(old.Value))
					return []byte(strconv.Itoa(n + 1)), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := open(t, fleet.Options{URL: s.URL}).Bucket(fleet.Budgets).Get(t.Context(), "sum")
	if err != nil || string(got.Value) != strconv.Itoa(hosts*times) {
		t.Errorf("%s %v", got.Value, err)
	}
}

// A server that goes away and comes back is told as away meanwhile, and nothing is written late.
func TestAway(t *testing.T) {
	s, dir := natsserver.Start(t), t.TempDir()
	f := open(t, fleet.Options{URL: s.URL, Dir: dir})
	b := f.Bucket(fleet.Budgets)
	if _, err := b.Put(t.Context(), "k", []byte("1")); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	wait.Until(t, "the server is away", func() bool {
		_, err := b.Put(t.Context(), "k", []byte("2"))
		if err != nil && !errors.Is(err, fleet.ErrAway) {
			t.Fatal(err)
		}
		return err != nil
	})
	// One that opens now marks it, so that the next does not try.
	if _, err := open(t, fleet.Options{URL: s.URL, Dir: dir}).Bucket(fleet.Budgets).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrAway) || !strings.Contains(err.Error(), s.URL) {
		t.Error(err)
	}
	s.Start()
	if _, err := open(t, fleet.Options{URL: s.URL, Dir: dir}).Bucket(fleet.Budgets).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrAway) {
		t.Errorf("the mark does not hold: %v", err)
	}
	wait.Until(t, "the server is back", func() bool {
		e, err := b.Get(t.Context(), "k")
		return err == nil && string(e.Value) == "1"
	})
	if err := os.Remove(filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, fleet.Options{URL: s.URL, Dir: dir}).Bucket(fleet.Budgets).Get(t.Context(), "k"); err != nil {
		t.Error(err)
	}
}

// A peer that takes connections and says nothing costs no more than the caller's time.
func TestSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var taken atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken.Add(1)
			defer c.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f := open(t, fleet.Options{URL: "nats://" + l.Addr().String()})
	for range 2 {
		if _, err := f.Bucket(fleet.History).Get(ctx, "k"); !errors.Is(err, fleet.ErrAway) {
			t.Error(err)
		}
	}
	if n := taken.Load(); n != 1 {
		t.Errorf("tried %d times", n)
	}
}

func TestRefused(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write := func(text string, mode os.FileMode) {
		testfile.Write(t, secret, text)
		if err := os.Chmod(secret, mode); err != nil {
			t.Fatal(err)
		}
	}
	refuses := func(o fleet.Options, text string) {
		t.Helper()
		_, err := open(t, o).Bucket(fleet.History).Get(t.Context(), "k")
		if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, not about %q", err, text)
		}
	}
	refuses(fleet.Options{URL: natsserver.Plain(t).URL}, "it has no JetStream")

	guarded := natsserver.Start(t, "authorization {user: u, password: hunter2}")
	refuses(fleet.Options{URL: guarded.URL}, "does not take these credentials")
	write("u:wrong\n", 0o600)
	refuses(fleet.Options{URL: guarded.URL, Credentials: secret}, "does not take these credentials")
	write("u:hunter2\n", 0o644)
	refuses(fleet.Options{URL: guarded.URL, Credentials: secret}, "chmod 600")
	write("two\nlines", 0o600)
	refuses(fleet.Options{URL: guarded.URL, Credentials: secret}, "user:password")
	refuses(fleet.Options{URL: guarded.URL, Credentials: secret + ".not"}, "no such file")
	write("u:hunter2\n", 0o600)
	if _, err := open(t, fleet.Options{URL: guarded.URL, Credentials: secret}).Bucket(fleet.History).Get(t.Context(), "k"); !errors.Is(err, fleet.ErrNone) {
		t.Error(err)
	}

	s := natsserver.Start(t)
	nc, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "plimsoll_history"}); err != nil {
		t.Fatal(err)
	}
	refuses(fleet.Options{URL: s.URL}, "made by another program")
}

// A server before 2.11 is refused by what it says of itself.
func TestOldServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, `INFO {"server_id":"x","version":"2.9.10","proto":1,"max_payload":1048576,"jetstream":true}`+"\r\n")
			buf := make([]byte, 4096)
			for {
				n, err := c.Read(buf)
				if err != nil {
					break
				}
				if strings.Contains(string(buf[:n]), "PING") {
					fmt.Fprint(c, "PONG\r\n")
				}
			}
		}
	}()
	_, err = open(t, fleet.Options{URL: "nats://" + l.Addr().String()}).Bucket(fleet.History).Get(t.Context(), "k")
	if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "2.9.10; 2.11.0 or a newer one") {
		t.Error(err)
	}
}

// A server with little storage gets smaller buckets, and one with none is told.
func TestSmallServer(t *testing.T) {
	small := func(size string) *natsserver.Server {
		return natsserver.Plain(t, fmt.Sprintf("jetstream {store_dir: %q, max_file_store: %s}", t.TempDir(), size))
	}
	f := open(t, fleet.Options{URL: small("100M").URL})
	for _, spec := range []fleet.Spec{fleet.History, fleet.Budgets, fleet.Rates, fleet.Windows, fleet.Hosts} {
		if _, err := f.Bucket(spec).Put(t.Context(), "k", []byte("v")); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
	}
	_, err := open(t, fleet.Options{URL: small("1M").URL}).Bucket(fleet.History).Put(t.Context(), "k", []byte("v"))
	if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "no room for bucket plimsoll_history") {
		t.Error(err)
	}
}

func TestNoFleet(t *testing.T) {
	none := fleet.New(fleet.Options{})
	none.Close()
	if _, err := none.Bucket(fleet.History).Get(t.Context(), "k"); none != nil || !errors.Is(err, fleet.ErrAway) {
		t.Error(none, err)
	}
}

// With one of three servers gone the others go on; with two gone a write fails and what is read may be old.
func TestCluster(t *testing.T) {
	c := natsserver.Cluster(t, 3)
	urls := c[0].URL + "," + c[1].URL + "," + c[2].URL
	f := open(t, fleet.Options{URL: urls})
	b := f.Bucket(fleet.Budgets)
	put := func() error {
		_, err := b.Put(t.Context(), "k", []byte("1"))
		return err
	}
	wait.Within(t, time.Minute, "the cluster takes a write", func() bool { return put() == nil })
	c[0].Kill()
	wait.Within(t, time.Minute, "two servers take a write", func() bool { return put() == nil })
	c[1].Kill()
	wait.Within(t, time.Minute, "one server takes none", func() bool { return errors.Is(put(), fleet.ErrAway) })
	c[0].Start()
	c[1].Start()
	wait.Within(t, time.Minute, "all of them take a write again", func() bool { return put() == nil })
}

func TestKey(t *testing.T) {
	if got := fleet.Key("make", "a b/ü", "", "=."); got != "make.a=20b=2F=C3=BC.=.=3D=2E" {
		t.Error(got)
	}
}
