package watch

import (
	"io"
	"strings"
	"testing"
)

// fromClaude is what Claude Code sends, shortened from its documentation.
const fromClaude = `{"hook_event_name":"Status","session_id":"abc","cwd":"/a","model":{"id":"claude-opus-5-5","display_name":"Opus"},
"workspace":{"current_dir":"/a/b","project_dir":"/a"},"cost":{"total_cost_usd":0.01},"exceeds_200k_tokens":false,
"context_window":{"total_input_tokens":15234,"total_output_tokens":4521,"context_window_size":200000,"used_percentage":8,"remaining_percentage":92,
"current_usage":{"input_tokens":8500,"output_tokens":1200,"cache_creation_input_tokens":5000,"cache_read_input_tokens":2000}}}`

func TestWhatAClientSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		dir           string
		tokens, limit int64
	}{
		fromClaude: {"/a", 15500, 200000},
		`{"context_window":{"context_window_size":200000,"used_percentage":50,"current_usage":null}}`: {"", 100000, 200000},
		`{"context_window":{"context_window_size":200000,"used_percentage":null}}`:                    {"", 0, 200000},
		`{"context_window":{"context_window_size":-1,"used_percentage":50}}`:                          {"", 0, 0},
		`{"context_window":{"context_window_size":1e300,"used_percentage":50}}`:                       {"", 0, 0},
		`{"cwd":"relative"}`:        {},
		`{"cwd":"/c"}`:              {"/c", 0, 0},
		`{"cwd":7}`:                 {},
		"":                          {},
		"null":                      {},
		"no JSON":                   {},
		`{"cwd":"/c"} and more`:     {"/c", 0, 0},
		strings.Repeat("[", 300000): {},
	} {
		c := ReadClient(strings.NewReader(text))
		if tokens, limit := c.window(); c.dir() != want.dir || tokens != want.tokens || limit != want.limit {
			t.Errorf("%.60q: folder %q, %d of %d tokens", text, c.dir(), tokens, limit)
		}
	}
}

func TestAClientThatSaysNothing(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	if c := ReadClient(r); c != (Client{}) {
		t.Errorf("%+v", c)
	}
}

func FuzzClient(f *testing.F) {
	f.Add([]byte(fromClaude))
	f.Add([]byte(`{"context_window":{"context_window_size":1e18,"used_percentage":99.9}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := ReadClient(strings.NewReader(string(text)))
		if tokens, limit := c.window(); tokens < 0 || limit < 0 || tokens > maxClientTokens || limit > maxClientTokens || tokens > 0 && limit == 0 {
			t.Errorf("%d of %d tokens", tokens, limit)
		}
	})
}
