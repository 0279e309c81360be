package standin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// Model is the name of the only model there is, and Owner what it calls itself in lists of
// models and as system_fingerprint.
const (
	Model = "standin-planner"
	Owner = "plimsoll-standin-no-language-model"
)

// Bounds of a stand-in.
const (
	// DefaultWindow is the window where Options name none, in tokens.
	DefaultWindow = 32_000
	// MaxBody bounds one request, as OpenAI's own limit does by order of magnitude.
	MaxBody = 32 * limit.MiB
	// MaxConcurrent bounds the requests at one time, MaxHeld the bytes of their bodies. One
	// more is answered with 429.
	MaxConcurrent = 64
	MaxHeld       = 256 * limit.MiB
	// maxDelay bounds Options.Delay.
	maxDelay = time.Minute
	// bodyTimeout bounds the time for a client to send a request, writeTimeout the time to
	// take a piece of the answer.
	bodyTimeout  = time.Minute
	writeTimeout = 30 * time.Second
)

// Options configure a stand-in. The zero value answers at once and behaves.
type Options struct {
	// Window bounds a request with its answer, in tokens; 0 means DefaultWindow,
	// below 0 there is no limit.
	Window int
	// Delay is kept between the pieces of a streamed answer, at most a minute.
	Delay time.Duration
	// Token must come as a bearer token. "" demands none of [New]; [Listen] makes one then.
	Token string

	// The rest is for tests: how it misbehaves.

	// Loop makes questions with the word "loop" repeat their calls for ever.
	Loop bool
	// Busy is the number of requests that are answered with 429 before the first is served; After is
	// the pause that those ask for.
	Busy  int
	After time.Duration
	// Malformed is the number of answers with calls whose last call has arguments that are no
	// JSON.
	Malformed int
	// Cut is the number of streamed answers that break off in the middle of an event.
	Cut int
}

// Stats counts what a stand-in did.
type Stats struct {
	Running   int   `json:"running"`
	Requests  int64 `json:"requests"`   // to the model that were begun
	Answered  int64 `json:"answered"`   // whole
	Calls     int64 `json:"calls"`      // of tools, in those
	Refused   int64 `json:"refused"`    // with 4xx, TooLong and Orphaned included
	TooLong   int64 `json:"too_long"`   // for the window
	Orphaned  int64 `json:"orphaned"`   // calls without results and the like
	Busy      int64 `json:"busy"`       // with 429
	BrokenOff int64 `json:"broken_off"` // the client left, or Options.Cut
}

// Standin is the stand-in, an [http.Handler]. [New] makes it.
type Standin struct {
	o     Options
	token [sha256.Size]byte
	count *tokens.Counter

	running, held, busyLeft, cutLeft, malformedLeft                                  atomic.Int64
	requests, answered, calls, refusedCount, tooLong, orphaned, busyCount, brokenOff atomic.Int64
}

// New returns a stand-in.
func New(o Options) *Standin {
	o.Window = cmp.Or(o.Window, DefaultWindow)
	o.Delay = min(max(o.Delay, 0), maxDelay)
	s := &Standin{o: o, token: sha256.Sum256([]byte(o.Token)), count: tokens.NewCounter(tokens.Options{MemoBytes: 1 << 20})}
	s.busyLeft.Store(int64(o.Busy))
	s.cutLeft.Store(int64(o.Cut))
	s.malformedLeft.Store(int64(o.Malformed))
	return s
}

// Stats returns the counts since New.
func (s *Standin) Stats() Stats {
	return Stats{
		Running: int(s.running.Load()), Requests: s.requests.Load(), Answered: s.answered.Load(), Calls: s.calls.Load(),
		Refused: s.refusedCount.Load(), TooLong: s.tooLong.Load(), Orphaned: s.orphaned.Load(), Busy: s.busyCount.Load(), BrokenOff: s.brokenOff.Load(),
	}
}

// takeOne lowers n by one and returns true; at 0 it returns false.
func takeOne(n *atomic.Int64) bool {
	for {
		left := n.Load()
		if left <= 0 {
			return false
		}
		if n.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// isAuthorised reports whether a request has the token, in constant time. Without Options.Token every request passes.
func (s *Standin) isAuthorised(r *http.Request) bool {
	if s.o.Token == "" {
		return true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(kind, "Bearer") && subtle.ConstantTimeCompare(got[:], s.token[:]) == 1
}

// ServeHTTP implements [http.Handler]: it answers requests for models and chat completions that have the token, and others with an error.
func (s *Standin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	id, one := strings.CutPrefix(path, "/v1/models/")
	switch {
	case !s.isAuthorised(r):
		s.refuse(w, &refusal{status: http.StatusUnauthorized, kind: "invalid_request_error", code: "invalid_api_key", text: "Incorrect API key provided. The key of this stand-in is the token that was made when it began to listen."})
	case path == "/v1/chat/completions" && r.Method == http.MethodPost:
		s.serveChat(w, r)
	case path == "/v1/models" && r.Method == http.MethodGet:
		s.serveModels(w, "")
	case one && r.Method == http.MethodGet:
		s.serveModels(w, id)
	case path == "/v1/chat/completions" || path == "/v1/models" || one:
		s.refuse(w, &refusal{status: http.StatusMethodNotAllowed, kind: "invalid_request_error", text: fmt.Sprintf("Not allowed to %.16s on %s.", r.Method, path)})
	default:
		s.refuse(w, &refusal{status: http.StatusNotFound, kind: "invalid_request_error", code: "unknown_url", text: fmt.Sprintf("Unknown request URL: %.16s %.200s. This stand-in has /v1/models and /v1/chat/completions.", r.Method, r.URL.Path)})
	}
}

// serveModels answers with the list of models for "", else with the model of that id or an error.
func (s *Standin) serveModels(w http.ResponseWriter, id string) {
	out := &modelserver.Stream{W: w, Timeout: writeTimeout}
	one := map[string]any{"id": Model, "object": "model", "created": created, "owned_by": Owner}
	switch id {
	case "":
		out.JSON(http.StatusOK, map[string]any{"object": "list", "data": []any{one}})
	case Model:
		out.JSON(http.StatusOK, one)
	default:
		s.refuse(w, noModel(id))
	}
}

// serveChat answers a request for a chat completion. It refuses it if too many requests run or hold too much memory, or while Options.Busy
// lasts.
func (s *Standin) serveChat(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.running.Add(-1)
	if s.running.Add(1) > MaxConcurrent {
		s.refuse(w, overloaded(fmt.Sprintf("%d requests are being answered already", MaxConcurrent), time.Second))
		return
	}
	size := r.ContentLength
	if size < 0 || size > int64(MaxBody) {
		size = int64(MaxBody)
	}
	defer s.held.Add(-size)
	if s.held.Add(size) > int64(MaxHeld) {
		s.refuse(w, overloaded("the requests at this moment are "+MaxHeld.Human()+" already", time.Second))
		return
	}
	if takeOne(&s.busyLeft) {
		s.refuse(w, overloaded("it was told to be busy", s.o.After))
		return
	}
	body, refused := readBody(w, r)
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	a, refused := s.parseRequest(body)
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	out := a.answer(s.reply(a))
	if !s.write(w, r, out) {
		return
	}
	s.answered.Add(1)
	s.calls.Add(int64(len(out.Calls)))
}

// readBody reads the body of a request within MaxBody and bodyTimeout. The refusal is nil unless it is larger, breaks off or is packed.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(MaxBody)))
	_ = rc.SetReadDeadline(time.Time{})
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, kind: "invalid_request_error", code: "request_too_large", text: "The request is larger than " + MaxBody.Human() + "."}
	}
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, kind: "invalid_request_error", text: "The request broke off before its end."}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, &refusal{status: http.StatusUnsupportedMediaType, kind: "invalid_request_error", text: fmt.Sprintf("The content encoding %.40q is not read here; send the request as it is.", encoding)}
	}
	return body, nil
}

// closeTimeout bounds the wait of Close for answers to end.
const closeTimeout = 2 * time.Second

// Server is a stand-in that listens on the loopback interface.
type Server struct {
	*Standin
	address string
	http    *http.Server
	once    sync.Once
	served  chan struct{}
	err     error
}

// Listen starts a stand-in on a free port of 127.0.0.1. It ends with ctx, or with Close. Without Options.Token it makes a random token.
func Listen(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Token == "" {
		o.Token = "standin-" + rand.Text()
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the stand-in model finds no free port of 127.0.0.1: %w", err)
	}
	s := &Server{Standin: New(o), address: l.Addr().String(), served: make(chan struct{})}
	s.http = &http.Server{Handler: s.Standin, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // it says that it was closed, or what Accept could not
	}()
	go func() {
		select {
		case <-ctx.Done():
			_ = s.Close()
		case <-s.served:
		}
	}()
	return s, nil
}

// URL returns its address, as clients want it: http://127.0.0.1:PORT/v1.
func (s *Server) URL() string { return "http://" + s.address + "/v1" }

// Token returns the key that clients have to send.
func (s *Server) Token() string { return s.o.Token }

// Close closes the listener and waits two seconds for answers under way, then cuts them off.
func (s *Server) Close() error {
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if s.err = s.http.Shutdown(ctx); errors.Is(s.err, context.DeadlineExceeded) {
			s.err = s.http.Close()
		}
		<-s.served
	})
	return s.err
}
