package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/semver"
)

const (
	// minServer is the first release whose buckets can expire keys with a marker (LimitMarkerTTL), which every bucket of ours asks for.
	minServer = "v2.11.0"
	// rest bounds how often a server that could not be reached is tried again, by a process and by others that see its mark.
	rest = 15 * time.Second
	// patience is the time after which whoever gives up on a server tells the others.
	patience = 250 * time.Millisecond
	// reconnectWait is the pause between attempts once there was a connection.
	reconnectWait = time.Second
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

	// life ends with Close.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	conn    *nats.Conn
	js      jetstream.JetStream
	trying  *attempt
	failed  error
	until   time.Time // failed holds until then
	buckets map[string]jetstream.KeyValue
}

// An attempt to connect outlasts a caller who has no more time: the next one finds the connection.
type attempt struct {
	began time.Time
	done  chan struct{}
}

// New opens nothing. Without a URL it returns nil.
func New(o Options) *Fleet {
	if o.URL == "" {
		return nil
	}
	life, end := context.WithCancel(context.Background())
	return &Fleet{options: o, life: life, end: end, buckets: map[string]jetstream.KeyValue{}}
}

// Close ends the connection.
func (f *Fleet) Close() {
	if f == nil {
		return
	}
	f.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn != nil {
		f.conn.Close()
	}
}

// open returns the connection, and makes it within the context's deadline. One that failed is not tried again for a while.
func (f *Fleet) open(ctx context.Context) (jetstream.JetStream, error) {
	if f == nil {
		return nil, ErrAway
	}
	f.mu.Lock()
	a, js, err := f.attempt()
	f.mu.Unlock()
	if js != nil || err != nil {
		return js, err
	}
	select {
	case <-a.done:
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.js, f.failed
	case <-ctx.Done():
		if time.Since(a.began) >= patience {
			f.mark()
		}
		return nil, f.away(fmt.Errorf("no answer yet (%w)", ctx.Err()))
	}
}

// attempt returns the attempt to connect that is under way, or how the last one ended. The caller holds f.mu.
func (f *Fleet) attempt() (*attempt, jetstream.JetStream, error) {
	switch {
	case f.life.Err() != nil:
		return nil, nil, f.away(nats.ErrConnectionClosed)
	case f.js != nil && f.conn.IsConnected():
		return nil, f.js, nil
	case f.js != nil:
		return nil, nil, f.away(nats.ErrDisconnected)
	case f.trying != nil:
		return f.trying, nil, nil
	case f.failed != nil && time.Now().Before(f.until):
		return nil, nil, f.failed
	case f.failed == nil && f.marked():
		f.failed, f.until = f.away(errors.New("it did not answer a run some seconds ago")), time.Now().Add(rest)
		return nil, nil, f.failed
	}
	a := &attempt{began: time.Now(), done: make(chan struct{})}
	f.trying = a
	go func() {
		js, err := f.connect(f.life)
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case errors.Is(err, ErrAway) && f.life.Err() == nil:
			f.mark()
		case err == nil:
			f.unmark()
		}
		f.js, f.failed, f.until, f.trying = js, err, time.Now().Add(rest), nil
		if err == nil && f.life.Err() != nil { // closed meanwhile
			f.conn.Close()
		}
		close(a.done)
	}()
	return a, nil, nil
}

func (f *Fleet) connect(ctx context.Context) (jetstream.JetStream, error) {
	ctx, cancel := context.WithTimeout(ctx, opTime)
	defer cancel()
	left := opTime
	if end, ok := ctx.Deadline(); ok {
		left = max(time.Until(end), time.Millisecond)
	}
	login, err := f.login()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	options := []nats.Option{
		nats.Name("plimsoll on " + host), nats.Timeout(left), nats.NoEcho(), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectBufSize(-1), // what is written while it is away fails, and does not come later
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.SetCustomDialer(dialer{ctx}), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	conn, err := nats.Connect(f.options.URL, append(options, login...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return nil, f.refused("it does not take these credentials (%w); [fleet] credentials names a file with them", err)
	case err != nil:
		return nil, f.away(err)
	}
	if got := "v" + conn.ConnectedServerVersion(); semver.Compare(got, minServer) < 0 {
		conn.Close()
		return nil, f.refused("its nats-server is %s; %s or a newer one is needed", got[1:], minServer[1:])
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(opTime))
	if err == nil {
		_, err = js.AccountInfo(ctx)
	}
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		err = f.refused("it has no JetStream; start it with nats-server -js")
	case err != nil:
		err = f.away(err)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	f.mu.Lock()
	f.conn = conn
	f.mu.Unlock()
	return js, nil
}

// A dialer connects for the first time within a context; later it takes the time that the library gives.
type dialer struct{ first context.Context }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	if d.first.Err() == nil {
		return new(net.Dialer).DialContext(d.first, network, address)
	}
	return net.DialTimeout(network, address, 2*time.Second)
}

// login reads the credentials. They are in no message.
func (f *Fleet) login() ([]nats.Option, error) {
	path := f.options.Credentials
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, f.refused("its credentials: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxCredentials:
		return nil, f.refused("%s is no file of credentials", path)
	case exposed(info):
		return nil, f.refused("%s can be read by others; chmod 600 it", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, f.refused("its credentials: %w", err)
	}
	text := strings.TrimSpace(string(raw))
	user, password, pair := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "-----BEGIN"):
		return []nats.Option{nats.UserCredentials(path)}, nil
	case text == "" || strings.ContainsAny(text, "\r\n"):
		return nil, f.refused("%s has neither a user's credentials, nor a seed, nor user:password, nor a token", path)
	case strings.HasPrefix(text, "SU") && len(text) == 58:
		option, err := nats.NkeyOptionFromSeed(path)
		if err != nil {
			return nil, f.refused("%s has no seed of a user", path)
		}
		return []nats.Option{option}, nil
	case pair:
		return []nats.Option{nats.UserInfo(user, password)}, nil
	}
	return []nats.Option{nats.Token(text)}, nil
}

func (f *Fleet) away(err error) error { return fmt.Errorf("%w: %s: %w", ErrAway, f.options.URL, err) }

func (f *Fleet) refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrRefused, f.options.URL, fmt.Errorf(format, args...))
}

// The mark is an empty file whose time tells the other processes of this host when the server was last found to be away.
func (f *Fleet) markPath() string { return filepath.Join(f.options.Dir, "away") }

func (f *Fleet) marked() bool {
	if f.options.Dir == "" {
		return false
	}
	info, err := os.Lstat(f.markPath())
	if err != nil {
		return false
	}
	age := time.Since(info.ModTime())
	return age >= 0 && age < rest
}

func (f *Fleet) mark() {
	if f.options.Dir == "" || os.MkdirAll(f.options.Dir, 0o700) != nil {
		return
	}
	if file, err := os.OpenFile(f.markPath(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = file.Close()
	}
	now := time.Now()
	_ = os.Chtimes(f.markPath(), now, now)
}

func (f *Fleet) unmark() {
	if f.options.Dir != "" {
		_ = os.Remove(f.markPath())
	}
}
