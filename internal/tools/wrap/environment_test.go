package wrap_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

func TestFromEnvironment(t *testing.T) {
	lookup := func(env map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	}
	url, headers, err := wrap.FromEnvironment(lookup(map[string]string{
		wrap.URLVariable: "https://x.example?k", wrap.HeaderVariable + "1": "X-A: b: c", wrap.HeaderVariable + "2": "x-a:d", wrap.HeaderVariable + "4": "no",
	}))
	if err != nil || url != "https://x.example?k" || strings.Join(headers["X-A"], "|") != "b: c|d" || len(headers) != 1 {
		t.Errorf("%q, %v, %v", url, headers, err)
	}
	if url, headers, err := wrap.FromEnvironment(lookup(nil)); url != "" || headers != nil || err != nil {
		t.Errorf("%q, %v, %v", url, headers, err)
	}
	for _, bad := range []string{"secret", ": secret", "A: secret\nB: c"} {
		_, _, err := wrap.FromEnvironment(lookup(map[string]string{wrap.HeaderVariable + "1": bad}))
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), wrap.HeaderVariable+"1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
