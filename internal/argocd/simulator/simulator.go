// Package simulator plays the API server of an Argo CD installation of any size, for tests, demonstrations and measurements.
//
//	s, err := simulator.New(simulator.Options{Applications: 100_000})
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// Answers, errors and headers are those recorded from Argo CD 3.5.1, special cases as frequent as there; tests compare both. A seed
// gives the same objects each time. Writes change what later answers say, up to 10,000 objects and 64 MiB of each kind. It reads no
// repository and no cluster; there is no RBAC beside [Access] and no single sign-on, and sync windows block nothing.
//
// All methods may be called from any goroutine. Objects are written from templates and not held: a list of 100,000 applications,
// 900 MB, needs 80 KiB for each request, and about 3 seconds of a core for a gigabyte. A cut connection, or a client that has gone,
// ends a request with [http.ErrAbortHandler]: who calls ServeHTTP without a server has to recover from it.
package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// None as a number of Options is no object of that kind; zero is the default.
const None = -1

// DefaultVersion is the server that was recorded.
const DefaultVersion = "v3.5.1"

// Options describe the simulated instance. Numbers of zero are the defaults (see [ParseSize]),
// [None] is none.
type Options struct {
	Applications    int
	Projects        int
	ApplicationSets int
	Clusters        int

	Seed    uint64 // other objects of the same kinds; names stay as they are
	Version string // as /api/version tells it; "" is DefaultVersion

	// Token is the administrator's. Without it and Tokens everybody is the administrator.
	Token  string
	Tokens map[string]Access // users by their tokens

	Faults Faults

	// LogEvery is the pause between the lines of a log that is followed, SyncTakes how long
	// an operation runs; 0 is a second.
	LogEvery, SyncTakes time.Duration
}

// Access describes the rights of a user: to see applications of some projects, and to change them with
// Writes. Clusters and repositories are not shown to users.
type Access struct {
	Name     string
	Projects []string
	Writes   bool
}

// Faults are the faults that the simulator shows. The zero value has none.
type Faults struct {
	Latency     time.Duration // before the first byte of every answer
	PerItem     time.Duration // before every object of a list
	CutAfter    int           // bytes of a list, uncompressed; then the connection is closed
	Status      int           // answer of everything below /api/v1: 401, 403, 500, 502, …
	HalfStarted int           // so many lists answer null and no version first
	HTML        bool          // a login page in place of every answer
	Silent      bool          // requests are taken and never answered
	Expired     bool          // every token has expired
}

// Counts are totals over all objects, as they are now.
type Counts struct {
	Applications, Projects, ApplicationSets, Clusters int

	// Applications by health and sync status and by project; "" is an application that was
	// never reconciled.
	Health, Sync, ByProject map[string]int
}

// Simulator is an http.Handler that plays Argo CD. All methods may be called from any
// goroutine.
type Simulator struct {
	options  Options // but for faults, which change
	seed     uint64
	names    [kinds]nameSequence // of what is generated
	words    word
	weight   int // of all states
	routes   []route
	sections map[string]*section

	stored [kinds]store

	writing sync.Mutex // one write at a time

	mu     sync.Mutex // of faults
	faults Faults

	requests atomic.Int64
	lists    [kinds]atomic.Int64
	revision atomic.Int64
}

// kind is a kind of list.
type kind int

const (
	applications kind = iota
	projects
	applicationsets
	clusters
	kinds
)

var version3 = lazy.Regexp(`^v?\d+\.\d+\.\d+`)

// New makes a simulator. It starts nothing and needs no Close.
func New(o Options) (*Simulator, error) {
	for _, size := range o.sizes() {
		switch {
		case *size.n == 0:
			*size.n = size.otherwise
		case *size.n == None:
			*size.n = 0
		case *size.n < 0 || *size.n > Max:
			return nil, fmt.Errorf("simulator: %d %s: not between 0 and %d", *size.n, size.name, Max)
		}
	}
	if o.Version = cmp.Or(o.Version, DefaultVersion); !version3().MatchString(o.Version) {
		return nil, fmt.Errorf("simulator: version %q: not like %s", o.Version, DefaultVersion)
	}
	if _, twice := o.Tokens[o.Token]; twice || o.Tokens[""].Name != "" {
		return nil, fmt.Errorf("simulator: the token of user %q is the administrator's or empty", o.Tokens[o.Token].Name)
	}
	o.LogEvery, o.SyncTakes = cmp.Or(o.LogEvery, time.Second), cmp.Or(o.SyncTakes, time.Second)
	s := &Simulator{options: o, seed: o.Seed, faults: o.Faults, words: loadWords(), routes: compileRoutes()}
	w := &s.words
	s.names[applications] = newNameSequence(o.Applications, w.Domains, w.Components, w.Places)
	s.names[projects] = newNameSequence(max(o.Projects-1, 0), w.Domains, w.Teams)
	s.names[applicationsets] = newNameSequence(o.ApplicationSets, w.Domains, w.Components, w.Fleets)
	for _, st := range w.States {
		s.weight += st.Weight
	}
	s.revision.Store(3166)
	s.sections = s.readTemplates(application{}, project{}, detailed{}, set{}, cluster{}, repository{}, tree{}, shown{}, compared{}, line{})
	if o.Projects > 0 {
		p := project{sim: s, name: "default"}
		f := found{kind: projects, index: -1, body: p.write(nil)}
		p.head(&f.head)
		_ = s.stored[projects].putObject(&f) // an empty store takes it
	}
	return s, nil
}

// Set changes what goes wrong from the next request on.
func (s *Simulator) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Requests returns how many lists of a kind were asked for: "applications", "projects",
// "applicationsets" or "clusters". "" is every request of any path.
func (s *Simulator) Requests(kind string) int64 {
	if kind == "" {
		return s.requests.Load()
	}
	i := slices.Index([]string{applications: "applications", projects: "projects", applicationsets: "applicationsets", clusters: "clusters"}, kind)
	if i < 0 {
		return 0
	}
	return s.lists[i].Load()
}

// Counts returns the totals of what the simulator shows to its administrator now.
func (s *Simulator) Counts() Counts {
	c := Counts{Health: map[string]int{}, Sync: map[string]int{}, ByProject: map[string]int{}, Clusters: s.options.Clusters}
	s.forObjects(applications, func(f *found) {
		c.Applications++
		c.Health[f.health]++
		c.Sync[f.sync]++
		c.ByProject[f.project]++
	})
	s.forObjects(projects, func(*found) { c.Projects++ })
	s.forObjects(applicationsets, func(*found) { c.ApplicationSets++ })
	return c
}

// halfStarted reports whether a list is to be null because the server has not read it yet, and takes it from the number of those.
func (s *Simulator) halfStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.HalfStarted <= 0 {
		return false
	}
	s.faults.HalfStarted--
	return true
}

// ServeHTTP counts and answers one request, with the faults that are set. A silent simulator waits until the client goes.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.mu.Lock()
	f := s.faults
	s.mu.Unlock()
	if f.Silent {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	pauseFor(r.Context(), f.Latency)
	s.answerRequest(w, r, f)
}
