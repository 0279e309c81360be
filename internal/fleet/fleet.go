// Package fleet keeps what hosts share in buckets of NATS JetStream: the history of peaks, budgets and rates, frozen decisions of windows, and
// which hosts there are. It places nothing and leads nothing: a host that cannot reach the server goes on by itself.
//
//	f := fleet.New(fleet.Options{URL: "nats://10.0.0.5:4222", Dir: state})
//	err := f.Bucket(fleet.Budgets).Change(ctx, key, func(old fleet.Entry) ([]byte, error) { … })
//	if errors.Is(err, fleet.ErrAway) { … go on with what this host has … }
//
// Nothing is opened before the first use, and a nil *Fleet is away for good. A read may be answered by a server that has no quorum: what must
// hold for all hosts is decided by a write that names the revision it replaces.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/semver"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// minServer is the first release whose buckets can expire keys with a marker (LimitMarkerTTL), which every bucket of ours asks for.
	minServer = "v2.11.0"
	// rest bounds how often a server that could not be reached is tried again, by a process and by others that see its mark.
	rest = 15 * time.Second
	// patience is the time after which whoever gives up on a server tells the others.
	patience = 250 * time.Millisecond
	// dialTime bounds the first words with each server, and reconnectWait is the pause between attempts once there was a connection.
	dialTime, reconnectWait = 3 * time.Second, time.Second
	// opTime bounds an operation whose caller sets no earlier deadline: without a quorum a write fails only after 3 s.
	opTime = 5 * time.Second

	maxCredentials = 64 << 10
)

var (
	// ErrAway is wrapped where the server cannot be reached or has no quorum. Whether a write was done is not known then.
	ErrAway = errors.New("the fleet is away")
	// ErrRefused is wrapped where a server cannot be used until somebody changes something: too old, no JetStream, another program's bucket.
	ErrRefused = errors.New("the fleet can't be used")
	// ErrNone is returned for a key without a value.
	ErrNone = errors.New("no such key in the fleet")
	// ErrConflict is returned where somebody else has changed the key.
	ErrConflict = errors.New("the key was changed by another host")
)

// Options say where the server is.
type Options struct {
	// URL is a list of addresses, nats:// or tls:// and without a user, with commas between; "" means no fleet. It is in messages.
	URL string
	// Credentials names a file with a user's JWT and seed, a seed alone, user:password or a token; "" for none.
	Credentials string
	// Dir is the directory in which this host's processes tell each other that the server is away.
	Dir string
}

// Fleet is a connection to the server of a fleet, made at the first use. It is safe for concurrent use, and nil is one that is away.
type Fleet struct {
	options Options
	buckets sync.Map // of names to [jetstream.KeyValue]

	mu     sync.Mutex
	last   *attempt
	closed bool
}

// An attempt to connect outlasts a caller who has no more time: the next one finds the connection.
type attempt struct {
	began time.Time
	done  chan struct{} // closed when the others are known
	js    jetstream.JetStream
	err   error
	until time.Time // err holds until then
}

// New opens nothing. Without a URL it returns nil.
func New(o Options) *Fleet {
	if o.URL == "" {
		return nil
	}
	return &Fleet{options: o}
}

// Close ends the connection for good. On nil it does nothing.
func (f *Fleet) Close() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if a := f.last; a != nil && a.isDone() && a.js != nil {
		a.js.Conn().Close()
	}
}

// connection returns the connection. If there is none it connects, and waits for that until ctx ends. After a failure it fails at once for a
// while; a nil fleet is away. If the attempt takes too long, other processes of this host are told by the mark.
func (f *Fleet) connection(ctx context.Context) (jetstream.JetStream, error) {
	if f == nil {
		return nil, ErrAway
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, f.awayError(nats.ErrConnectionClosed)
	}
	if f.last == nil || f.last.isDone() && f.last.err != nil && time.Now().After(f.last.until) {
		f.startConnecting()
	}
	a := f.last
	f.mu.Unlock()
	if !a.isDone() {
		select {
		case <-a.done:
		case <-ctx.Done():
			if time.Since(a.began) >= patience {
				f.markAway()
			}
			return nil, f.awayError(fmt.Errorf("no answer yet (%w)", ctx.Err()))
		}
	}
	if a.err == nil && !a.js.Conn().IsConnected() {
		return nil, f.awayError(nats.ErrDisconnected)
	}
	return a.js, a.err
}

// isDone reports whether the attempt to connect has ended, with or without success.
func (a *attempt) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// startConnecting starts connecting in the background. The first attempt of a process fails at once if another process has marked the fleet as away
// just now. A success removes that mark, a server that is away sets it. The caller holds f.mu.
func (f *Fleet) startConnecting() {
	first, a := f.last == nil, &attempt{began: time.Now(), done: make(chan struct{})}
	f.last = a
	if first && f.isMarkedAway() {
		a.err, a.until = f.awayError(errors.New("it did not answer a run some seconds ago")), time.Now().Add(rest)
		close(a.done)
		return
	}
	go func() {
		js, err := f.connect()
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case err == nil && f.closed: // meanwhile
			js.Conn().Close()
		case err == nil:
			f.removeMark()
		case errors.Is(err, ErrAway) && !f.closed:
			f.markAway()
		}
		a.js, a.err, a.until = js, err, time.Now().Add(rest)
		close(a.done)
	}()
}

// connect connects to the NATS server of the fleet and checks it. The error says whether the server is away or has refused the credentials.
func (f *Fleet) connect() (jetstream.JetStream, error) {
	login, err := f.login()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	options := []nats.Option{
		nats.Name("plimsoll on " + host), nats.Timeout(dialTime), nats.NoEcho(), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // what is written while it is away fails, and does not come later
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	conn, err := nats.Connect(f.options.URL, append(options, login...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return nil, f.refusedError("it does not take these credentials (%w); [fleet] credentials names a file with them", err)
	case err != nil:
		return nil, f.awayError(err)
	}
	js, err := f.checkServer(conn)
	if err != nil {
		conn.Close()
	}
	return js, err
}

// checkServer returns the JetStream of a server; an error if the server is too old or has none.
func (f *Fleet) checkServer(conn *nats.Conn) (jetstream.JetStream, error) {
	if got := "v" + conn.ConnectedServerVersion(); semver.Compare(got, minServer) < 0 {
		return nil, f.refusedError("its nats-server is %s; %s or a newer one is needed", got[1:], minServer[1:])
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(opTime))
	if err == nil {
		_, err = js.AccountInfo(context.Background()) // within opTime
	}
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return nil, f.refusedError("it has no JetStream; start it with nats-server -js")
	case err != nil:
		return nil, f.awayError(err)
	}
	return js, nil
}

// login returns the options to log in with, from the file of credentials; none if no file is named. It is an error if others may read the
// file. No message contains the credentials.
func (f *Fleet) login() ([]nats.Option, error) {
	path := f.options.Credentials
	if path == "" {
		return nil, nil
	}
	raw, err := statefile.ReadLinked(path, maxCredentials)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(path); err == nil && othersMayRead(info) {
			return nil, f.refusedError("%s can be read by others; chmod 600 it", path)
		}
	}
	if err != nil {
		return nil, f.refusedError("its credentials: %w", err)
	}
	text := strings.TrimSpace(string(raw))
	user, password, pair := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "-----BEGIN"):
		return []nats.Option{nats.UserCredentials(path)}, nil
	case text == "" || strings.ContainsAny(text, "\r\n"):
		return nil, f.refusedError("%s has neither a user's credentials, nor a seed, nor user:password, nor a token", path)
	case strings.HasPrefix(text, "SU") && len(text) == 58:
		option, err := nats.NkeyOptionFromSeed(path)
		if err != nil {
			return nil, f.refusedError("%s has no seed of a user", path)
		}
		return []nats.Option{option}, nil
	case pair:
		return []nats.Option{nats.UserInfo(user, password)}, nil
	}
	return []nats.Option{nats.Token(text)}, nil
}

// awayError returns an [ErrAway] with the address of the fleet and the cause.
func (f *Fleet) awayError(err error) error {
	return fmt.Errorf("%w: %s: %w", ErrAway, f.options.URL, err)
}

// refusedError returns an [ErrRefused] with the address of the fleet and a formatted reason.
func (f *Fleet) refusedError(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrRefused, f.options.URL, fmt.Errorf(format, args...))
}

// The mark is an empty file whose time tells the other processes of this host when the server was last found to be away.
func (f *Fleet) markPath() string { return filepath.Join(f.options.Dir, "away") }

// isMarkedAway reports whether a process of this host has found the fleet away within the last rest.
func (f *Fleet) isMarkedAway() bool {
	info, err := os.Lstat(f.markPath())
	if f.options.Dir == "" || err != nil {
		return false
	}
	age := time.Since(info.ModTime())
	return age >= 0 && age < rest
}

// markAway tells the other processes of this host that the server is away. A mark that cannot be written is left out.
func (f *Fleet) markAway() {
	if f.options.Dir != "" && os.MkdirAll(f.options.Dir, 0o700) == nil {
		_ = atomicfile.Write(f.markPath(), nil, 0o600, atomicfile.Volatile)
		now := time.Now() // not by the clock of a file server
		_ = os.Chtimes(f.markPath(), now, now)
	}
}

// removeMark tells the other processes of this host that the server may be tried.
func (f *Fleet) removeMark() {
	if f.options.Dir != "" {
		_ = os.Remove(f.markPath())
	}
}
