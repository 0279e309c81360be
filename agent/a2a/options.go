package a2a

import (
	"log/slog"
	"net/netip"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Options configure a [Server]. Name and Executor are required.
type Options struct {
	// Name identifies the agent in its card, in logs and in the journal.
	Name     string
	Executor Executor
	Card     Card
	// Path is the path at which the server is mounted, as "/a2a/argocd/"; "" is "/". The server takes it
	// off the requests itself.
	Path string
	// URL is the server's address in the card, with the path. When it is "", the card names
	// the host of the request.
	URL string
	// Dir keeps the tasks, so that they survive a restart; "" keeps them in memory.
	Dir    string
	Limits Limits
	// Journal gets events about dropped events and evicted tasks; it may be nil.
	Journal *journal.Journal
	// Log gets errors and warnings; nil drops them.
	Log *slog.Logger
	// Only10 leaves A2A 0.3 out: its calls, and its fields in the card, which some checkers of
	// cards of 1.0 don't let pass.
	Only10 bool
	// PushAllow are networks that push notifications may go to although they are not public.
	PushAllow []netip.Prefix
	// PushHosts are names of hosts, in lower case, that push notifications may go to wherever they lead.
	PushHosts []string
}

// Card holds the fields of the agent card beside the name.
type Card struct {
	Description string
	// Version is the agent's own; "" is "0".
	Version       string
	Documentation string // an address
	Provider      *sdk.AgentProvider
	Skills        []sdk.AgentSkill
	// InputModes are the media types that messages may have, "text/*" for a group; nil is
	// text and JSON. Other parts are refused.
	InputModes []string
	// OutputModes are the media types of answers; nil is Markdown and plain text.
	OutputModes []string
	// Bearer means that the server is behind a check of bearer tokens; the card tells clients so.
	Bearer bool
	// Extended is the card for GetExtendedAgentCard; nil: there is none.
	Extended *sdk.AgentCard
}

// Limits bound a [Server]. Zero values mean the defaults.
type Limits struct {
	MaxRequest     limit.Bytes   // of a request's body (8 MiB)
	MaxRunning     int           // tasks at once (64); one more is refused
	MaxTasks       int           // kept, ended ones too (1024)
	MaxStore       limit.Bytes   // of all kept tasks (64 MiB)
	MaxTask        limit.Bytes   // of one task: its history and artifacts (4 MiB)
	MaxLog         limit.Bytes   // of the events of one task that are kept to be read again (1 MiB)
	MaxLogs        limit.Bytes   // of the events of all tasks (16 MiB)
	KeepLog        time.Duration // how long an ended task's events are kept for clients that come back (5 min)
	MaxEvent       limit.Bytes   // of one event (512 KiB, at most MaxLog)
	MaxSubscribers int           // of one task (64)
	MaxStreams     int           // of all tasks (256)
	MaxPush        int           // push configurations of one task (8)
	MaxPushQueue   int           // notifications of all tasks that wait (256)
	PushTries      int           // of one notification (5)
	PushTimeout    time.Duration // of one try (10 s)
	WriteTimeout   time.Duration // for a client to take one event (20 s)
	ReadTimeout    time.Duration // for a client to send a request (60 s)
	KeepAlive      time.Duration // between comments on an idle stream (15 s)
	CancelWait     time.Duration // for an executor to end after a cancel (10 s)
}

func (l *Limits) setDefaults() {
	bytes := func(at *limit.Bytes, standard limit.Bytes) {
		if *at <= 0 {
			*at = standard
		}
	}
	count := func(at *int, standard int) {
		if *at <= 0 {
			*at = standard
		}
	}
	wait := func(at *time.Duration, standard time.Duration) {
		if *at <= 0 {
			*at = standard
		}
	}
	bytes(&l.MaxRequest, 8*limit.MiB)
	count(&l.MaxRunning, 64)
	count(&l.MaxTasks, 1024)
	bytes(&l.MaxStore, 64*limit.MiB)
	bytes(&l.MaxTask, 4*limit.MiB)
	bytes(&l.MaxLog, limit.MiB)
	bytes(&l.MaxLogs, 16*limit.MiB)
	wait(&l.KeepLog, 5*time.Minute)
	bytes(&l.MaxEvent, 512*limit.KiB)
	l.MaxEvent = min(l.MaxEvent, l.MaxLog)
	count(&l.MaxSubscribers, 64)
	count(&l.MaxStreams, 256)
	count(&l.MaxPush, 8)
	count(&l.MaxPushQueue, 256)
	count(&l.PushTries, 5)
	wait(&l.PushTimeout, 10*time.Second)
	wait(&l.WriteTimeout, 20*time.Second)
	wait(&l.ReadTimeout, time.Minute)
	wait(&l.KeepAlive, 15*time.Second)
	wait(&l.CancelWait, 10*time.Second)
}
