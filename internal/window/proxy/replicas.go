package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Replicas keeps values that several proxies with the same clients share. An error says that nobody can be reached: each then goes on with
// what it knows itself.
type Replicas interface {
	// Name returns a name for a value, which does not tell what it is about.
	Name(kind, of string) string
	// Get returns a value with its revision; nil without one that can be read, revision 0 without any.
	Get(ctx context.Context, name string) (value []byte, revision uint64, err error)
	// Put replaces the value of a revision, 0 for none, and returns the new revision; 0 where another proxy was faster.
	Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error)
}

const (
	// replicaWait bounds the wait of a request for Replicas, at each of its few steps.
	replicaWait = 250 * time.Millisecond
	// sharedTries bounds the attempts to write a value that others write too.
	sharedTries = 5
	// maxShared bounds a shared log, packed, and maxReports the requests that a thread has in the shared record.
	maxShared  = 500 << 10
	maxReports = 4
	// renewAfter is the age at which a log that nobody changes is written again, before it is too old to be kept.
	renewAfter = 24 * time.Hour
)

// A thread is the shared state of a conversation: its log, and how its newest requests were sent. It is named by the beginning of the
// conversation up to the model's first answer; before there is one by that up to the task, its opening, which conversations of equal words share.
type thread struct {
	log, sent   string // names of the two values
	openingLog  string // "" in the opening itself
	openingSent string
	reports     []report
	revision    uint64                   // of reports
	fresh       []report                 // that this process did not know
	theirs      []*checkpoint.Checkpoint // the shared log as of the revision at, where it was read for this request
	at          uint64
	again       bool // the log was read a second time
}

// knownLog is a shared log as this process last saw it.
type knownLog struct {
	revision uint64 // whose checkpoints the Store has
	at       time.Time
	behind   bool // the Store has some that could not be shared
}

// A report tells how a request of the conversation was sent, and what the provider said of it.
type report struct {
	Client     tokens.Digest // of the client's messages
	Clients    int           // their number
	Sent, Head tokens.Digest // of the messages that were sent, and of system prompt and tools
	Messages   int32         // number of those sent
	Edited     bool          `json:",omitzero"`
	Cached     bool          `json:",omitzero"`
	At         time.Time
	Tokens     int    // see sentAs
	Log        uint64 `json:",omitzero"` // revision of the log that was put in
	Model      string
	Input      int `json:",omitzero"` // as the provider counted, 0 while that is not known

	HeadTokens, ExtraTokens tokens.Estimate
}

// sentAs returns the report in the form of this process's own records.
func (r *report) sentAs() sentAs {
	return sentAs{digest: r.Sent, head: r.Head, messages: r.Messages, edited: r.Edited, at: r.At, tokens: r.Tokens, cached: r.Cached}
}

// describesPrefix reports whether the report is about a request whose messages are the first of those with the digests chain.
func (r *report) describesPrefix(chain []tokens.Digest) bool {
	return r.Clients > 0 && r.Clients <= len(chain) && chain[r.Clients-1] == r.Client && r.Messages > 0
}

// parseReports decodes the shared reports of a thread; nil if value is invalid or has more than maxReports.
func parseReports(value []byte) (list []report) {
	if json.Unmarshal(value, &list) != nil || len(list) > maxReports {
		return nil
	}
	return list
}

// fetchShared reads what other replicas have shared about the conversation. If the reports lag behind the client's messages it waits a
// little and reads again. Without replicas it does nothing.
func (t *conversation) fetchShared() {
	if t.p.o.Replicas == nil || t.p.o.Store == nil || t.p.o.Mode != Enforce || len(t.chain) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.r.Context(), replicaWait)
	defer cancel()
	t.thread = t.newThread()
	for pause := 2 * time.Millisecond; ; pause *= 2 {
		if err := t.readReports(ctx); err != nil {
			return
		}
		// A copy of the store may lag behind: somebody has sent what the model has answered since.
		newest := 0
		for i := range t.thread.reports {
			if r := &t.thread.reports[i]; r.describesPrefix(t.chain) {
				newest = max(newest, r.Clients)
			}
		}
		if newest == 0 || newest >= countAnswered(t.received) || pause > 8*time.Millisecond {
			break
		}
		if _, known := t.p.lastSent(t.log, t.chain); known >= countAnswered(t.received) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
	for _, r := range t.thread.reports {
		if !r.describesPrefix(t.chain) {
			continue
		}
		at := conversationPrefix{t.log, r.Client}
		if have, ok := t.p.sent.Get(at); !ok || have.at.Before(r.At) {
			t.p.sent.Put(at, r.sentAs())
			t.thread.fresh = append(t.thread.fresh, r)
		}
	}
}

// newThread returns the conversation's thread with only its names set. They depend on the first messages alone, as all replicas must agree.
func (t *conversation) newThread() *thread {
	task := t.noted.task
	if task >= len(t.chain) {
		task = 0
	}
	name := func(kind string, at int) string {
		return t.p.o.Replicas.Name(kind, t.logOf+"\x00"+string(t.chain[at][:]))
	}
	for i := task + 1; i < len(t.chain); i++ {
		if t.received.Messages[i].Role == wire.RoleAssistant {
			return &thread{log: name("log", i), sent: name("sent", i), openingLog: name("log", task), openingSent: name("sent", task)}
		}
	}
	return &thread{log: name("log", task), sent: name("sent", task)}
}

// readReports reads the reports of the thread, and the shared log if it has changed. An error means that it cannot be read.
func (t *conversation) readReports(ctx context.Context) error {
	th := t.thread
	value, revision, err := t.p.o.Replicas.Get(ctx, th.sent)
	if err != nil {
		return err
	}
	log := th.log
	if value == nil && th.openingSent != "" {
		if value, _, err = t.p.o.Replicas.Get(ctx, th.openingSent); err != nil {
			return err
		}
		log = th.openingLog
	}
	th.reports, th.revision = parseReports(value), revision
	needed := uint64(0)
	for i := range th.reports {
		needed = max(needed, th.reports[i].Log)
		if log != th.log {
			th.reports[i].Log = 0 // it is about another log than the thread's
		}
	}
	if needed == 0 {
		return nil
	}
	if log != th.log {
		t.p.threads.Put(th.log, knownLog{behind: true}) // what was decided in the opening goes with the thread
	}
	return t.readLog(ctx, log, needed)
}

// readLog puts the shared log of that name into the Store, unless the Store has it at that revision or a newer one. A log that cannot be
// parsed is ignored. The error means that the replicas' store cannot be read.
func (t *conversation) readLog(ctx context.Context, name string, revision uint64) error {
	known, _ := t.p.threads.Get(name)
	if known.revision >= revision {
		return nil
	}
	value, revision, err := t.p.o.Replicas.Get(ctx, name)
	if err != nil {
		return err
	}
	list, err := checkpoint.Unpack(value)
	if err != nil {
		return nil // somebody else's form: what is decided now replaces it
	}
	t.p.o.Store.Adopt(t.log, list, nil)
	if name == t.thread.log {
		t.thread.theirs, t.thread.at = list, revision
	}
	known.revision, known.at = revision, t.p.now()
	t.p.threads.Put(name, known)
	return nil
}

// refetchLog reads the shared log again, because what was sent differs from what the log says. It returns true if the log has changed. A
// second call does nothing and returns false.
func (t *conversation) refetchLog() bool {
	th := t.thread
	if th == nil || th.again {
		return false
	}
	th.again = true
	ctx, cancel := context.WithTimeout(t.r.Context(), replicaWait)
	defer cancel()
	value, revision, err := t.p.o.Replicas.Get(ctx, th.log)
	if err != nil || value == nil {
		return false
	}
	list, err := checkpoint.Unpack(value)
	if err != nil {
		return false
	}
	t.p.threads.Put(th.log, knownLog{revision: revision, at: t.p.now()})
	return t.p.o.Store.Adopt(t.log, list, nil)
}

// learnReports corrects our token estimates by the counts that providers gave to other replicas, and estimates the request again.
func (t *conversation) learnReports() {
	if t.thread == nil || len(t.thread.fresh) == 0 {
		return
	}
	sorting.By(t.thread.fresh, func(a, b report) int { return cmp.Compare(a.Clients, b.Clients) })
	for _, r := range t.thread.fresh {
		n := int(r.Messages)
		if r.Input <= 0 || r.Model != t.model || n > len(t.Tally.Chain) || t.Tally.Chain[n-1] != r.Sent {
			continue
		}
		first := t.Tally
		first.HeadDigest, first.Head, first.Extra = r.Head, r.HeadTokens, r.ExtraTokens
		t.p.o.Usage.Report(t.Ledger, first.First(n), r.Input)
	}
	t.thread.fresh = nil
	t.Measure()
}
