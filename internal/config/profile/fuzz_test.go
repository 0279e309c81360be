package profile

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Whatever the files, flags and variables hold: a plan ends, is the same twice, and when
// there is a proxy every address it gives to the tool is the proxy's.
func FuzzPlan(f *testing.F) {
	planned := append(All(), Generic)
	for _, r := range slices.Concat(claudeRows, codexRows, geminiRows, openCodeRows, otherRows, adapterRows, piRows, newestRows) {
		tool := slices.IndexFunc(planned, func(a *Agent) bool { return a.Name == r.tool })
		for _, text := range append(slices.Sorted(maps.Values(r.files)), "") {
			f.Add(uint8(tool), text, strings.Join(r.env, "\n"), strings.Join(r.argv, "\n"))
		}
	}
	f.Add(uint8(1), strings.Repeat("[", 100_000), "", "claude")
	f.Add(uint8(3), "a."+strings.Repeat("a.", 50_000)+"a=1", "", "codex")
	f.Fuzz(func(t *testing.T, tool uint8, file, env, argv string) {
		p := planned[int(tool)%len(planned)]
		in := Setup{
			Argv: strings.Split(argv, "\n"), Environ: append(strings.Split(env, "\n"), "HOME=/h"), Dir: "/h/w", Root: root, AWS: len(env)%2 == 0, Folder: "/f",
			Secure: func() (string, []byte, error) { return secureRoot, []byte("OURS"), nil },
			ReadFile: func(name string) ([]byte, error) {
				if len(name)%2 == 0 {
					return nil, fs.ErrNotExist
				}
				return []byte(file), nil
			},
		}
		s, err := p.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := p.Plan(in); err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v, then %+v, %v", s, again, err)
		}
		if s.Why != "" {
			if len(s.Env)+len(s.Upstreams) > 0 || !slices.Equal(s.Argv, in.Argv) {
				t.Fatalf("without proxy, yet %+v", s)
			}
			return
		}
		names := map[string]bool{}
		for _, u := range s.Upstreams {
			parsed, err := url.Parse(u.URL)
			if err != nil || parsed.Host == "" || parsed.User != nil || names[u.Name] || strings.Trim(u.Name, bareKey+".") != "" {
				t.Fatalf("upstream %+v of %+v", u, s.Upstreams)
			}
			names[u.Name] = true
		}
		pointed := !slices.Equal(s.Argv, in.Argv)
		for _, v := range s.Env {
			pointed = pointed || strings.Contains(v.Value, root) || strings.Contains(v.Value, secureRoot)
		}
		if !pointed {
			t.Fatalf("nothing points at the proxy: %+v", s)
		}
	})
}

// JSON without comments stays what it is.
func FuzzPlainJSON(f *testing.F) {
	for _, text := range []string{`{"a":"//x /* y","b":[1,2]}`, `{"a":1, /* x */ "b":[1,],} // end`, `"\\\"//"`, "/*", `"`, "\xef\xbb\xbf{}", `[,]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain := plainJSON(text)
		if len(plain) > len(text) {
			t.Fatalf("%q became longer: %q", text, plain)
		}
		if json.Valid(text) && !bytes.Equal(plain, text) {
			t.Fatalf("%q became %q", text, plain)
		}
	})
}

// Everything but the member that is set stays as it was.
func FuzzSetMember(f *testing.F) {
	for _, text := range []string{`{}`, `{"provider":{"a":{"options":{"baseURL":"x","k":1e400}}},"z":[1]}`, `{"provider":1}`, `{"a":1,"a":2}`, `[]`, `{"provider":{"a":null}}`} {
		f.Add([]byte(text), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, id string) {
		out, err := setMember(text, []string{"provider", id, "options", "baseURL"}, root)
		if err != nil || !json.Valid(text) {
			return
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatal(err)
		}
		for name, value := range before {
			var want, got bytes.Buffer
			if name == "provider" || json.Compact(&want, value) != nil || json.Compact(&got, after[name]) != nil {
				continue
			}
			if want.String() != got.String() {
				t.Fatalf("%s: %s became %s", name, want.String(), got.String())
			}
		}
		if !bytes.Contains(out, []byte(root)) {
			t.Fatalf("%s lacks the address", out)
		}
	})
}

func FuzzDotenv(f *testing.F) {
	f.Add([]byte("A=1\nexport B='x # y' # z\n#C=1\nD=a#b\n=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, value := range dotenv(text) {
			if name == "" || strings.ContainsAny(name, "=\n") || strings.Contains(value, "\n") {
				t.Fatalf("%q=%q", name, value)
			}
		}
	})
}

func TestDotenv(t *testing.T) {
	got := dotenv([]byte("A=1\nexport B='x # y' # z\n#C=1\nD=a#b\n  E = \"two words\"\nF=\n"))
	want := map[string]string{"A": "1", "B": "x # y", "D": "a", "E": "two words", "F": ""}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
