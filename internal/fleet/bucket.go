package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Spec describes a bucket, which the first host that needs it makes.
type Spec struct {
	// Name is that of the bucket behind "plimsoll_".
	Name string
	// Doc says what is in it, for who looks with NATS' own tools.
	Doc string
	// Kept is the number of values kept of a key, at most 64.
	Kept uint8
	// Age bounds the time for which a value is kept after it was written.
	Age time.Duration
	// MaxValue and MaxBytes bound a value and the whole bucket. A bucket that is full takes no more until values are too old.
	MaxValue int32
	MaxBytes int64
}

// The buckets of a fleet.
var (
	History = Spec{Name: "history", Doc: "what runs of tools took", Kept: 64, Age: 180 * 24 * time.Hour, MaxValue: 4 << 10, MaxBytes: 512 << 20}
	Budgets = Spec{Name: "budgets", Doc: "what hosts spent and may spend", Kept: 1, Age: 70 * 24 * time.Hour, MaxValue: 256 << 10, MaxBytes: 256 << 20}
	Rates   = Spec{Name: "rates", Doc: "what providers let through, by key", Kept: 1, Age: time.Hour, MaxValue: 64 << 10, MaxBytes: 64 << 20}
	Windows = Spec{Name: "windows", Doc: "sealed decisions about conversations", Kept: 1, Age: 7 * 24 * time.Hour, MaxValue: 512 << 10, MaxBytes: 4 << 30}
	Hosts   = Spec{Name: "hosts", Doc: "the hosts and their runs", Kept: 1, Age: 20 * time.Second, MaxValue: 512 << 10, MaxBytes: 512 << 20}
	Spent   = Spec{Name: "spent", Doc: "what hosts spent, by day", Kept: 1, Age: 70 * 24 * time.Hour, MaxValue: 512 << 10, MaxBytes: 512 << 20}
)

// ours marks a bucket as one of Plimsoll's, in the form that this version writes.
var ours = map[string]string{"plimsoll": "1"}

// Bucket is one bucket of a fleet.
type Bucket struct {
	fleet *Fleet
	spec  Spec
}

// Entry is a value with its revision.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	Time     time.Time
	// Gone is true for a key that was deleted, of a [Bucket.Watch].
	Gone bool
}

// Bucket returns a bucket. Nothing is opened before its first use.
func (f *Fleet) Bucket(s Spec) *Bucket { return &Bucket{f, s} }

// openBucket returns the connection and the bucket. It connects if needed, and looks the bucket up once for all users of the fleet.
func (b *Bucket) openBucket(ctx context.Context) (jetstream.JetStream, jetstream.KeyValue, error) {
	js, err := b.fleet.connection(ctx)
	if err != nil {
		return nil, nil, err
	}
	if kv, ok := b.fleet.buckets.Load(b.spec.Name); ok {
		return js, kv.(jetstream.KeyValue), nil
	}
	kv, err := b.findOrCreate(ctx, js)
	if err == nil {
		b.fleet.buckets.Store(b.spec.Name, kv)
	}
	return js, kv, err
}

// findOrCreate returns the server's bucket and creates it if there is none: with three copies if there are three servers, and smaller if the disk
// has too little room. An existing bucket with too few copies gets more. A bucket of another program is an error.
func (b *Bucket) findOrCreate(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	name := "plimsoll_" + b.spec.Name
	config := jetstream.KeyValueConfig{
		Bucket: name, Description: b.spec.Doc, History: b.spec.Kept, TTL: b.spec.Age, MaxValueSize: b.spec.MaxValue, MaxBytes: b.spec.MaxBytes,
		LimitMarkerTTL: time.Minute, Metadata: ours, Replicas: 1,
	}
	if len(js.Conn().Servers()) >= 3 {
		config.Replicas = 3
	}
	kv, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		// A server sets MaxBytes aside, by default out of three quarters of what its disk has free: a small one gets a smaller bucket.
		for ; config.MaxBytes >= minBucket; config.MaxBytes /= 4 {
			if kv, err = js.CreateKeyValue(ctx, config); !isStorageFull(err) {
				break
			}
		}
		if isStorageFull(err) {
			return nil, b.fleet.refusedError("it has no room for bucket %s: %w; give its JetStream more storage", name, err)
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // another host was first
			kv, err = js.KeyValue(ctx, name)
		}
	}
	if err != nil {
		return nil, b.translateError(err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, b.translateError(err)
	}
	have, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok || have.StreamInfo().Config.Metadata["plimsoll"] != ours["plimsoll"] {
		return nil, b.fleet.refusedError("its bucket %s was made by another program; remove it there, or take another account", name)
	}
	if have.StreamInfo().Config.Replicas < config.Replicas {
		config.MaxBytes = have.StreamInfo().Config.MaxBytes
		if more, err := js.UpdateKeyValue(ctx, config); err == nil { // else it stays as it is: its servers may not be up yet
			return more, nil
		}
	}
	return kv, nil
}

// minBucket is the size in bytes below which no bucket is made.
const minBucket = 4 << 20

// isStorageFull reports whether an error says that a server has too little storage left for a bucket: JSStorageResourcesExceededErr, and
// JSClusterNoPeersErrF of a cluster (nats-server, server/errors.json).
func isStorageFull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == 10047 || api.ErrorCode == 10005)
}

// translateError turns an error of the library into ErrNone, ErrConflict, a refusal of the server or, for anything else, ErrAway; only an invalid
// key and a value that is too large stay what they are. nil stays nil.
func (b *Bucket) translateError(err error) error {
	api := (*jetstream.APIError)(nil)
	isAPI := errors.As(err, &api)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return ErrNone
	case errors.Is(err, jetstream.ErrKeyExists),
		isAPI && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return ErrConflict
	case errors.Is(err, jetstream.ErrInvalidKey), errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("fleet %s: %w", b.spec.Name, err)
	case isAPI && api.Code == 400, isAPI && api.Code == 403, errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, jetstream.ErrBucketExists):
		return b.fleet.refusedError("bucket plimsoll_%s: %w", b.spec.Name, err)
	}
	return b.fleet.awayError(err)
}

// withBucket calls f with the open bucket, within opTime, and translates the error of f.
func (b *Bucket) withBucket(ctx context.Context, f func(ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, opTime)
	defer cancel()
	js, kv, err := b.openBucket(ctx)
	if err != nil {
		return err
	}
	return b.translateError(f(ctx, js, kv))
}

// Get returns the newest value of a key, or [ErrNone]. It may be an older one if the server has no quorum.
func (b *Bucket) Get(ctx context.Context, key string) (e Entry, err error) {
	err = b.withBucket(ctx, func(ctx context.Context, _ jetstream.JetStream, kv jetstream.KeyValue) error {
		got, err := kv.Get(ctx, key)
		if err == nil {
			e = newEntry(got)
		}
		return err
	})
	return e, err
}

// newEntry returns an entry of the library as one of ours.
func newEntry(e jetstream.KeyValueEntry) Entry {
	return Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision(), Time: e.Created(), Gone: e.Operation() != jetstream.KeyValuePut}
}

// Values returns the values kept of a key, oldest first; none is no error. One request to any of the bucket's servers reads them all, and
// leaves no consumer behind on the server.
func (b *Bucket) Values(ctx context.Context, key string) (all []Entry, err error) {
	err = b.withBucket(ctx, func(ctx context.Context, js jetstream.JetStream, _ jetstream.KeyValue) error {
		before := "$KV.plimsoll_" + b.spec.Name + "."
		inbox := js.Conn().NewInbox()
		sub, err := js.Conn().SubscribeSync(inbox)
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }()
		ask := fmt.Appendf(nil, `{"seq":1,"batch":%d,"next_by_subj":%q}`, b.spec.Kept, before+key)
		if err := js.Conn().PublishRequest("$JS.API.DIRECT.GET.KV_plimsoll_"+b.spec.Name, inbox, ask); err != nil {
			return err
		}
		for {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				return err
			}
			switch status := m.Header.Get("Status"); {
			case status == "204", status == "404":
				return nil
			case status != "" || len(all) == int(b.spec.Kept):
				return fmt.Errorf("it answered %.40q %.80q", status, m.Header.Get("Description"))
			}
			e := Entry{Key: strings.TrimPrefix(m.Header.Get(jetstream.SubjectHeader), before), Value: m.Data}
			e.Revision, _ = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
			e.Time, _ = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
			e.Gone = m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != ""
			all = append(all, e)
		}
	})
	return all, err
}

// Post is a value to write whatever was there.
type Post struct {
	Key string
	// ID names the value: one that is posted again within two minutes is not written again.
	ID    string
	Value []byte
}

// Post writes values together and returns which of them were written; the error is that of the first that was not. Values with an ID that
// the server has seen lately are not written twice.
func (b *Bucket) Post(ctx context.Context, posts []Post) (done []bool, err error) {
	done = make([]bool, len(posts))
	err = b.withBucket(ctx, func(ctx context.Context, js jetstream.JetStream, _ jetstream.KeyValue) (failed error) {
		acks := make([]jetstream.PubAckFuture, 0, len(posts))
		for _, p := range posts {
			m := &nats.Msg{Subject: "$KV.plimsoll_" + b.spec.Name + "." + p.Key, Data: p.Value}
			ack, err := js.PublishMsgAsync(m, jetstream.WithMsgID(p.ID), jetstream.WithRetryAttempts(1))
			if err != nil {
				failed = err
				break
			}
			acks = append(acks, ack)
		}
		for i, ack := range acks {
			select {
			case <-ack.Ok():
				done[i] = true
			case err := <-ack.Err():
				failed = cmp.Or(failed, err)
			case <-ctx.Done():
				return cmp.Or(failed, ctx.Err())
			}
		}
		return failed
	})
	return done, err
}

// Status says where a bucket is.
type Status struct {
	Server   string `json:"server,omitempty"` // its version
	Servers  int    `json:"servers,omitempty"`
	Replicas int    `json:"replicas,omitempty"`
	Values   uint64 `json:"-"`
}

// Status asks the server for its version and its number, and for the copies and values of the bucket.
func (b *Bucket) Status(ctx context.Context) (s Status, err error) {
	err = b.withBucket(ctx, func(ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue) error {
		status, err := kv.Status(ctx)
		if have, ok := status.(*jetstream.KeyValueBucketStatus); err == nil && ok {
			s = Status{js.Conn().ConnectedServerVersion(), len(js.Conn().Servers()), have.StreamInfo().Config.Replicas, have.Values()}
		}
		return err
	})
	return s, err
}

// Put writes a value whatever was there, and returns its revision.
func (b *Bucket) Put(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	err = b.withBucket(ctx, func(ctx context.Context, _ jetstream.JetStream, kv jetstream.KeyValue) error {
		revision, err = kv.Put(ctx, key, value)
		return err
	})
	return revision, err
}

// Write replaces the value of a key if its revision is still this one, or creates it if revision is 0, and returns the new revision. If
// another host was faster it returns [ErrConflict].
func (b *Bucket) Write(ctx context.Context, key string, value []byte, revision uint64) (next uint64, err error) {
	err = b.withBucket(ctx, func(ctx context.Context, _ jetstream.JetStream, kv jetstream.KeyValue) error {
		if revision == 0 {
			next, err = kv.Create(ctx, key, value)
		} else {
			next, err = kv.Update(ctx, key, value, revision)
		}
		return err
	})
	return next, err
}

// Change calls change with the value of a key, the zero Entry if there is none, and writes what it returns. If another host was faster it
// calls change again. Nothing is written if change returns nil or an error. After [ErrAway] the value may have been written or not: change
// must be safe to repeat.
func (b *Bucket) Change(ctx context.Context, key string, change func(old Entry) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, opTime)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		e, err := b.Get(ctx, key)
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		value, err := change(e)
		if err != nil || value == nil {
			return err
		}
		if _, err = b.Write(ctx, key, value, e.Revision); !errors.Is(err, ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return b.fleet.awayError(ctx.Err())
		case <-time.After(rand.N(pause) + time.Millisecond/2):
		}
	}
}

const (
	// probeEvery is the time between two questions of a watch whether the fleet answers, probeTime how long that may take.
	probeEvery, probeTime = 4 * time.Second, 2 * time.Second
)

// Watch calls see with each value there is under the keys of a pattern, such as "host.>" for those whose first part is host, then with ready
// true once, then with each change. It returns nil when the context ends, and an error when the fleet does not answer.
func (b *Bucket) Watch(ctx context.Context, pattern string, see func(e Entry, ready bool)) error {
	_, kv, err := b.openBucket(ctx)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, pattern)
	if err != nil {
		return b.translateError(err)
	}
	defer func() {
		_ = w.Stop()
		go func() { // what waits to be read keeps the library from ending it
			for range w.Updates() { // nobody wants it
			}
		}()
	}()
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-probe.C:
			if err := b.probe(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		case e, ok := <-w.Updates():
			switch {
			case !ok && ctx.Err() != nil: // which closes it
				return nil
			case !ok:
				return b.fleet.awayError(errors.New("the watch ended"))
			case e == nil:
				see(Entry{}, true)
			default:
				see(newEntry(e), false)
			}
		}
	}
}

// probe asks for a key that nobody writes. It returns nil if the server answers that there is none, else the error: ErrAway or a refusal.
func (b *Bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if _, err := b.Get(ctx, "probe"); !errors.Is(err, ErrNone) {
		return err
	}
	return nil
}

// Key joins parts to a key of a bucket, with dots between. Bytes that a key may not contain are written as =XX, an empty part as "=".
func Key(parts ...string) string {
	var out strings.Builder
	for i, part := range parts {
		if i > 0 {
			out.WriteByte('.')
		}
		if part == "" {
			out.WriteByte('=')
		}
		for _, c := range []byte(part) {
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
				out.WriteByte(c)
			} else {
				fmt.Fprintf(&out, "=%02X", c)
			}
		}
	}
	return out.String()
}
