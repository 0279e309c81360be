package simulator

import (
	"net/http"
	"time"
)

// Options say what the simulator shows. Zero numbers are the defaults, negative ones none.
type Options struct {
	Applications    int
	Projects        int
	ApplicationSets int
	Clusters        int
	Seed            uint64
	Version         string
	Token           string
	Tokens          map[string]Access
	Faults          Faults
}

// Access is what one user may do.
type Access struct {
	Name     string
	Projects []string
	Writes   bool
}

// Faults are what goes wrong.
type Faults struct {
	Latency     time.Duration
	PerItem     time.Duration
	CutAfter    int64
	Status      int
	HalfStarted int
	HTML        bool
	Silent      bool
	Expired     bool
}

// Counts are the totals over all objects.
type Counts struct {
	Applications, Projects, ApplicationSets, Clusters int

	Health    map[string]int
	Sync      map[string]int
	ByProject map[string]int
}

// Simulator is an http.Handler that plays Argo CD.
type Simulator struct{}

// New makes a simulator.
func New(o Options) (*Simulator, error) { return &Simulator{}, nil }

// ServeHTTP answers one request.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "Not Found", http.StatusNotFound)
}

// Counts returns the totals.
func (s *Simulator) Counts() Counts { return Counts{} }

// Requests returns how many lists of a kind were asked for: "applications", "projects",
// "applicationsets", "clusters"; "" is every request of any path.
func (s *Simulator) Requests(kind string) int64 { return 0 }

// Set changes the faults.
func (s *Simulator) Set(f Faults) {}

// ParseFaults reads "latency=200ms,cut=100000,status=401,half-started=1,html,silent,expired".
func ParseFaults(text string) (Faults, error) { return Faults{}, nil }

// ParseSize reads "819,236,287,13"; fewer numbers keep the defaults.
func ParseSize(text string) (Options, error) { return Options{}, nil }
