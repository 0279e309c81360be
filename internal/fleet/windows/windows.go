// Package windows keeps what replicas of `plimsoll serve` share of their conversations in a fleet, sealed.
//
//	logs, err := windows.Open(ctx, f, windows.Options{Secret: token, Warn: warn})
//	name := logs.Name("log", conversation)
//	value, revision, err := logs.Get(ctx, name)
//	next, err := logs.Put(ctx, name, value, revision)
//
// Names are keyed digests and values are sealed with keys that are derived from a secret of the replicas, so that who runs the store can read
// neither, nor put one value in the place of another. He can remove values, and put an old one back. With the store away every call fails at
// once but the first one, and the store is asked in the background until it answers.
package windows

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
)

const (
	// openWait bounds the wait for a store at the start, probeWait that of one question whether it is back, probeEvery the time between two.
	openWait   = 2 * time.Second
	probeWait  = 5 * time.Second
	probeEvery = time.Second
	// tellEvery is the shortest time between two warnings that say the same.
	tellEvery = time.Hour
	// minSecret is the shortest secret in bytes, as of a token of [serve].
	minSecret = 16

	version = 1 // of a sealed value: this byte, a nonce, the ciphertext
)

// ErrNoSecret is returned where there is nothing to seal with.
var ErrNoSecret = errors.New("conversations are not shared with other replicas: they would be sealed with the token of serve, and there is none; " +
	"set PLIMSOLL_SERVE_TOKEN to the name of a variable with the token that all replicas have")

var errAway = errors.New("the store of conversations is away")

// Options configure [Logs].
type Options struct {
	// Secret is the same in all replicas, and known to nobody else who can read the store.
	Secret string
	// Warn is told that the store is away, and of values that cannot be read, each at most once an hour.
	Warn func(string)
}

// Logs are the values of a fleet's [fleet.Windows]. They are safe for concurrent use.
type Logs struct {
	bucket       *fleet.Bucket
	names, seals []byte
	warn         func(string)

	mu     sync.Mutex
	away   bool // somebody asks whether it is back
	told   map[string]time.Time
	ended  context.Context
	end    context.CancelFunc
	probes sync.WaitGroup
}

// Open returns the shared conversations of a fleet, sealed with keys that are derived from o.Secret. A secret that is too short is [ErrNoSecret].
// If the store does not answer, that is no error: it is tried again in the background. The caller closes the result before the fleet.
func Open(ctx context.Context, f *fleet.Fleet, o Options) (*Logs, error) {
	if len(o.Secret) < minSecret {
		return nil, ErrNoSecret
	}
	l := &Logs{bucket: f.Bucket(fleet.Windows), warn: o.Warn, told: map[string]time.Time{}}
	for use, key := range map[string]*[]byte{"names": &l.names, "seals": &l.seals} {
		var err error
		if *key, err = hkdf.Key(sha256.New, []byte(o.Secret), nil, "plimsoll conversations 1 "+use, sha256.Size); err != nil {
			return nil, err
		}
	}
	l.ended, l.end = context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if err := l.pingStore(ctx); err != nil {
		_ = l.handleFailure(err)
	}
	return l, nil
}

// Close ends what is done in the background and waits for it. On nil it does nothing.
func (l *Logs) Close() {
	if l != nil {
		l.end()
		l.probes.Wait()
	}
}

// mac returns the HMAC of a text under a key.
func (l *Logs) mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Name returns the key of a value: its kind, and a digest of its subject that nobody can make without the secret.
func (l *Logs) Name(kind, subject string) string {
	return fleet.Key(kind, hex.EncodeToString(l.mac(l.names, kind+"\x00"+subject)[:16]))
}

// Get returns a value with its revision; nil and 0 if there is none. A value that cannot be decrypted is nil with its revision, and a warning.
// While the store is away it fails at once, as Put does.
func (l *Logs) Get(ctx context.Context, name string) (value []byte, revision uint64, err error) {
	if l.isAway() {
		return nil, 0, errAway
	}
	e, err := l.bucket.Get(ctx, name)
	switch {
	case errors.Is(err, fleet.ErrNone):
		return nil, 0, nil
	case err != nil:
		return nil, 0, l.handleFailure(err)
	}
	value, err = l.unseal(name, e.Value)
	if err != nil {
		l.warnOnce("a shared conversation cannot be opened and is begun anew: it was sealed with another token, or changed in the store")
		return nil, e.Revision, nil
	}
	return value, e.Revision, nil
}

// Put replaces the value with this revision, 0 for none, and returns the new revision. If another replica was faster it writes nothing and
// returns 0.
func (l *Logs) Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	if l.isAway() {
		return 0, errAway
	}
	next, err := l.bucket.Write(ctx, name, l.seal(name, value), revision)
	switch {
	case errors.Is(err, fleet.ErrConflict):
		return 0, nil
	case err != nil:
		return 0, l.handleFailure(err)
	}
	return next, nil
}

// cipher returns the cipher of one name: each conversation is sealed with a key of its own.
func (l *Logs) cipher(name string) cipher.AEAD {
	block, err := aes.NewCipher(l.mac(l.seals, name))
	if err != nil {
		panic(err) // the key has the length of a digest
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block that GCM needs
	}
	return gcm
}

// seal encrypts a value so that it can be read under this name only.
func (l *Logs) seal(name string, value []byte) []byte {
	c := l.cipher(name)
	out := make([]byte, 1+c.NonceSize(), 1+c.NonceSize()+len(value)+c.Overhead())
	out[0] = version
	_, _ = rand.Read(out[1:]) // never fails
	return c.Seal(out, out[1:], value, []byte(name))
}

// unseal decrypts a value that was sealed under this name. A value of another name, or one that was changed, is an error.
func (l *Logs) unseal(name string, sealed []byte) ([]byte, error) {
	c := l.cipher(name)
	if len(sealed) < 1+c.NonceSize() || sealed[0] != version {
		return nil, errors.New("it has another form")
	}
	nonce, text := sealed[1:1+c.NonceSize()], sealed[1+c.NonceSize():]
	value, err := c.Open(make([]byte, 0, len(text)), nonce, text, []byte(name)) // never nil, as a value that is there is not
	return value, err
}

// isAway reports whether the store did not answer the last time, and has not been seen to answer since.
func (l *Logs) isAway() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

// handleFailure returns err. If it says that the store is away or refuses, handleFailure also warns once, marks the store as away, and begins to ask
// in the background whether it is back. An error because the caller has gone says nothing of the store.
func (l *Logs) handleFailure(err error) error {
	if !errors.Is(err, fleet.ErrAway) && !errors.Is(err, fleet.ErrRefused) || errors.Is(err, context.Canceled) {
		return err
	}
	l.mu.Lock()
	first := !l.away && l.ended.Err() == nil
	if first {
		l.away = true
		l.probes.Go(l.probe)
	}
	l.mu.Unlock()
	if first {
		l.warnOnce(fmt.Sprintf("conversations are not shared with other replicas until the fleet is back, each replica goes on with what it has decided itself: %v", err))
	}
	return err
}

// probe asks the store every few seconds until it answers, and then marks it as back.
func (l *Logs) probe() {
	every := time.NewTicker(probeEvery)
	defer every.Stop()
	for {
		select {
		case <-l.ended.Done():
			return
		case <-every.C:
		}
		ctx, cancel := context.WithTimeout(l.ended, probeWait)
		err := l.pingStore(ctx)
		cancel()
		if err == nil {
			l.mu.Lock()
			l.away = false
			l.mu.Unlock()
			return
		}
	}
}

// pingStore returns why the store does not answer, nil if it does.
func (l *Logs) pingStore(ctx context.Context) error {
	_, err := l.bucket.Get(ctx, l.Name("log", ""))
	if errors.Is(err, fleet.ErrNone) {
		return nil
	}
	return err
}

// warnOnce warns, unless a warning with the same first 30 bytes was given within tellEvery: what follows them names times and addresses.
func (l *Logs) warnOnce(text string) {
	kind := text[:min(len(text), 30)]
	l.mu.Lock()
	last, told := l.told[kind]
	again := told && time.Since(last) < tellEvery
	if !again {
		l.told[kind] = time.Now()
	}
	l.mu.Unlock()
	if !again {
		l.warn(text)
	}
}
