// Package embedserver is a stand-in for a service of embeddings, for tests.
//
//	s := embedserver.New(t)
//	client, err := embed.NewClient(embed.ClientOptions{URL: s.URL, Model: embedserver.Model})
//
// It speaks POST /v1/embeddings, and it is no model: a vector has a place for each word of a text, by a hash of the word, and a dozen pairs of words with
// one meaning ("car" and "automobile") share theirs. So its vectors are the same each time, and similar for texts that share words or pairs. What a real model
// does is measured by `go run ./bench memory --embed URL`.
//
// A test says how it fails: [Server.Fail], [Server.Hold]. It notes what it was sent. It is safe for use by many goroutines, and closed with
// the test.
package embedserver

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// Model is the name of what makes the vectors.
const Model = "stand-in-of-hashed-words"

// meanings are words that share a place.
var meanings = func() map[string]string {
	same := map[string]string{}
	for pair := range strings.FieldsSeq("car=automobile physician=doctor film=movie buy=purchase begin=start big=large sofa=couch pupil=student shop=store error=failure db=database lunch=meal") {
		a, b, _ := strings.Cut(pair, "=")
		same[b] = a
	}
	return same
}()

// Server is a service that is asked for vectors.
type Server struct {
	URL string // with /v1 at its end

	mu         sync.Mutex
	status     int
	held       chan struct{}
	arrived    chan struct{}
	dimensions int
	texts      []string
	keys       []string
}

// New starts a service, and ends it with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{dimensions: 64}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL + "/v1"
	return s
}

// Fail makes it answer a status; 200 makes it work again.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Dimensions changes how many the vectors have (64).
func (s *Server) Dimensions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dimensions = n
}

// Hold makes requests wait until release is called. arrived tells of each that does.
func (s *Server) Hold() (arrived <-chan struct{}, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held, s.arrived = held, make(chan struct{}, 1000)
	return s.arrived, sync.OnceFunc(func() {
		s.mu.Lock()
		s.held = nil
		s.mu.Unlock()
		close(held)
	})
}

// Texts returns those that it was sent.
func (s *Server) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.texts)
}

// Keys returns the values of Authorization, one a request.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body)
	s.mu.Lock()
	s.keys = append(s.keys, r.Header.Get("Authorization"))
	s.texts = append(s.texts, body.Input...)
	status, held, arrived, dimensions := s.status, s.held, s.arrived, s.dimensions
	s.mu.Unlock()
	if held != nil {
		arrived <- struct{}{}
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case status != 0 && status != http.StatusOK:
		http.Error(w, "the stand-in was told to fail", status)
		return
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings":
		http.Error(w, "only POST /v1/embeddings", http.StatusNotFound)
		return
	}
	type vector struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	answer := struct {
		Object string   `json:"object"`
		Model  string   `json:"model"`
		Data   []vector `json:"data"`
	}{Object: "list", Model: body.Model}
	for i, text := range body.Input {
		answer.Data = append(answer.Data, vector{"embedding", i, Vector(text, dimensions)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// Vector returns the vector of a text.
func Vector(text string, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if same, ok := meanings[word]; ok {
			word = same
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		sum := h.Sum32()
		sign := float32(1)
		if sum>>31 == 1 {
			sign = -1
		}
		v[int(sum&0xffff)%dimensions] += sign
	}
	v[0] += 0.01 // so that a text without words has a direction
	return v
}
