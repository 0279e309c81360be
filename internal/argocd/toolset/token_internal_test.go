package toolset

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A token goes into a header of a request to Argo CD: nothing may follow it in.
func FuzzUserToken(f *testing.F) {
	f.Add("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", "")
	f.Add("", "Bearer eyJhbGciOiJIUzI1NiJ9")
	f.Add("", "bearer  a\r\nX-Evil: 1")
	f.Add("a b", "Basic YTpi")
	f.Add("\x00", "Bearer")
	f.Fuzz(func(t *testing.T, own, authorization string) {
		h := http.Header{}
		if own != "" {
			h[DefaultUserHeader] = []string{own}
		}
		if authorization != "" {
			h["Authorization"] = []string{authorization}
		}
		token, err := userToken(h, DefaultUserHeader, "prod")
		if err != nil {
			if token != "" {
				t.Errorf("a token and an error: %v", err)
			}
			return
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || len(token) > maxToken {
			t.Errorf("%q passes for a token", token)
		}
		if own != "" && token != strings.TrimSpace(own) || own == "" && token != "" && !strings.Contains(authorization, token) {
			t.Errorf("%q and %q give %q", own, authorization, token)
		}
		if own == "" && strings.TrimSpace(authorization) == "" && token != "" {
			t.Errorf("a token %q of nothing", token)
		}
	})
}

func TestWithMatched(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		`{}`:                           `{"matched":["a","b\""]}`,
		` { } `:                        `{"matched":["a","b\""]}`,
		`{"n":12345678901234567890}`:   `{"n":12345678901234567890,"matched":["a","b\""]}`,
		"{\"x\":{\"y\":\"}\"} \n}\n\t": `{"x":{"y":"}"},"matched":["a","b\""]}`,
	} {
		got, err := withMatched(json.RawMessage(row), []string{"a", `b"`})
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s, %v", row, got, err)
		}
	}
	for _, row := range []string{"", "[]", "{", "}", "null", `"{}"`} {
		if got, err := withMatched(json.RawMessage(row), []string{"a"}); err == nil {
			t.Errorf("%q: %s", row, got)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	got := splitValues([]string{" a,b ", "", "b", "c,,", ","})
	if strings.Join(got, "|") != "a|b|c" {
		t.Errorf("%q", got)
	}
	if splitValues(nil) != nil || splitValues([]string{" "}) != nil {
		t.Error("nothing is a word")
	}
	if got := shortQuote(strings.Repeat("ä", 60)); got != strings.Repeat("ä", 40)+"…" {
		t.Errorf("%q", got)
	}
	if got := shortQuote("a\xff"); got != "a\uFFFD" {
		t.Errorf("%q", got)
	}
}
