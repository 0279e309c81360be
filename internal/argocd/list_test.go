package argocd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/testing/streams"
	"github.com/plimsoll/plimsoll/limit"
)

func TestRecordedListsAreWhole(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]int{Applications: 819, Projects: 236, ApplicationSets: 287, Clusters: 13} {
		body := packed(t, string(kind))
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/"+string(kind) || r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		})
		plain := unpacked(t, string(kind))
		var all struct{ Items []json.RawMessage }
		if err := json.Unmarshal(plain, &all); err != nil {
			t.Fatal(err)
		}
		n := 0
		info, err := c.List(t.Context(), kind, Query{}, func(item []byte) error {
			if !bytes.Equal(item, all.Items[n]) {
				return fmt.Errorf("item %d is another one", n)
			}
			n++
			return nil
		})
		if err != nil || info != (ListInfo{Items: want, Bytes: int64(len(plain))}) || n != want {
			t.Errorf("%s: %+v, %v; want %d items and %d bytes", kind, info, err, want, len(plain))
		}
	}
}

const smallList = `{"metadata":{"resourceVersion":"1","x":[true,false,null,-1.5e+3]},"items":[{"a":"\u00e4\"]}"},{"b":[{},[]]} , {"c":0}],"z":{"y":"é"}}`

// A list that ends anywhere before its last byte is an error, however the connection ends.
func TestAListThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[func() (int, bool)]
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		cut, clean := (*now.Load())()
		w.Header().Set("Content-Type", "application/json")
		if !clean {
			w.Header().Set("Content-Length", fmt.Sprint(len(smallList)))
		}
		_, _ = io.WriteString(w, smallList[:cut])
		_ = http.NewResponseController(w).Flush()
		if !clean && cut < len(smallList) {
			panic(http.ErrAbortHandler)
		}
	})
	set := func(cut int, clean bool) {
		f := func() (int, bool) { return cut, clean }
		now.Store(&f)
	}
	for cut := range len(smallList) {
		for _, clean := range []bool{true, false} {
			set(cut, clean)
			items := 0
			info, err := c.List(t.Context(), Applications, Query{}, func([]byte) error { items++; return nil })
			e := asError(t, err)
			if e.Kind != Broken || info.Items != items || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d (clean %t): %v (%s), %+v", cut, clean, err, e.Kind, info)
			}
			if want := strings.Count(smallList[:cut], `"a"`) + strings.Count(smallList[:cut], `"b"`) + strings.Count(smallList[:cut], `"c"`); items > want || items < want-1 {
				t.Fatalf("cut at %d: %d items of %d", cut, items, want)
			}
		}
	}
	set(len(smallList), true)
	if info, err := c.List(t.Context(), Applications, Query{}, nothing); err != nil || info.Items != 3 {
		t.Fatalf("the whole list: %+v, %v", info, err)
	}
}

func TestAPackedListThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, smallList)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	body := packed.Bytes()
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body)
	})
	whole := body
	for cut := range len(whole) {
		body = whole[:cut]
		if _, err := c.List(t.Context(), Applications, Query{}, nothing); asError(t, err).Kind != Broken {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	body = slices.Clone(whole)
	body[len(body)-6] ^= 1 // the checksum
	if _, err := c.List(t.Context(), Applications, Query{}, nothing); asError(t, err).Kind != Broken {
		t.Fatalf("a wrong checksum: %v", err)
	}
}

func TestWhatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		smallList + "x", smallList + smallList, `{"items":[{}`, `{"items":[{},]}`, `{"items":[{} {}]}`, `{"items":[01]}`, `{"items":[{"a":1,}]}`,
		`{"items":[{"a" 1}]}`, `{"items":["` + "\x01" + `"]}`, `{"items":["\x"]}`, `{"items":[tru]}`, `{"items":[]`, `{"items":[] "a":1}`, ``, ` `,
		`{"items":` + strings.Repeat("[", 100_000), `{"items":[` + strings.Repeat(`{"a":`, 5000), `{items:[]}`, `{"items":[-]}`, `{"items":[1.]}`, `{"items":[1e]}`,
		`{"items":[` + strings.Repeat(" ", maxSpace+1) + `]}`,
	} {
		c := serve(t, Options{}, answers(body))
		if _, err := c.List(t.Context(), Applications, Query{}, nothing); asError(t, err).Kind != Broken {
			t.Errorf("%.60q: %v", body, err)
		}
	}
}

func TestAnObjectHasABound(t *testing.T) {
	t.Parallel()
	item := `{"a":"` + strings.Repeat("x", 10_000) + `"}`
	list := `{"items":[{},` + item + `]}`
	for _, test := range []struct {
		max limit.Bytes
		ok  bool
	}{{limit.Bytes(len(item)), true}, {limit.Bytes(len(item)) - 1, false}, {100, false}} {
		c := serve(t, Options{MaxObject: test.max}, answers(list))
		info, err := c.List(t.Context(), Applications, Query{}, nothing)
		switch {
		case test.ok && (err != nil || info.Items != 2):
			t.Errorf("%d: %+v, %v", test.max, info, err)
		case !test.ok && (asError(t, err).Kind != TooLarge || info.Items != 1):
			t.Errorf("%d: %+v, %v", test.max, info, err)
		}
	}
	for _, body := range []string{
		`{"items":[],"rest":` + item + `}`, `{"` + strings.Repeat("k", 9000) + `":1,"items":[]}`, `{"items":[` + strings.Repeat("1", 9000) + `]}`,
	} {
		c := serve(t, Options{MaxObject: 5000}, answers(body))
		if _, err := c.List(t.Context(), Applications, Query{}, nothing); asError(t, err).Kind != TooLarge {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestTheCallersErrorComesBack(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{}, answers(smallList))
	for _, own := range []error{errors.New("enough"), io.EOF, &Error{Kind: Server}} {
		info, err := c.List(t.Context(), Applications, Query{}, func([]byte) error { return own })
		if err != own || info.Items != 1 {
			t.Errorf("got %v after %d", err, info.Items)
		}
		if _, err = c.Elements(t.Context(), []string{"x"}, nil, map[string]func([]byte) error{"items": func([]byte) error { return own }}); err != own {
			t.Errorf("Elements: got %v", err)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	c := serve(t, Options{}, answers(`{ "nodes" : [ {"n":1}, {"n":2} ] , "a": { "b" : [1, 2] }, "orphanedNodes":null,"shards\u0043ount":3 }`))
	got := map[string][]string{}
	collect := func(name string) func([]byte) error {
		return func(item []byte) error { got[name] = append(got[name], string(item)); return nil }
	}
	rest, err := c.Elements(t.Context(), []string{"applications", "a", "resource-tree"}, nil,
		map[string]func([]byte) error{"nodes": collect("nodes"), "orphanedNodes": collect("orphanedNodes"), "hosts": collect("hosts")})
	if err != nil || string(rest) != `{"a":{"b":[1,2]},"shardsCount":3}` {
		t.Errorf("rest %s, %v", rest, err)
	}
	if want := map[string][]string{"nodes": {`{"n":1}`, `{"n":2}`}}; !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %v, want %v", got, want)
	}
	c = serve(t, Options{MaxObject: 64}, answers(`{"a":"`+strings.Repeat("x", 40)+`","b":"`+strings.Repeat("x", 40)+`"}`))
	if _, err := c.Elements(t.Context(), []string{"x"}, nil, nil); asError(t, err).Kind != TooLarge {
		t.Errorf("a rest that is too large: %v", err)
	}
}

// The list is as large as it likes: one object of it is in memory.
func TestMemoryDoesNotGrowWithAList(t *testing.T) {
	items, size := 100_000, 2_000
	if raceDetector {
		items, size = 20_000, 500
	}
	object := []byte(`{"metadata":{"name":"app","labels":{"team":"a"}},"spec":{"source":{"helm":{"values":"` + strings.Repeat("v", size) + `"}}}}`)
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		b := bufio.NewWriterSize(w, 64<<10)
		_, _ = io.WriteString(b, `{"metadata":{},"items":[`)
		for i := range items {
			if i > 0 {
				_ = b.WriteByte(',')
			}
			_, _ = b.Write(object)
		}
		_, _ = io.WriteString(b, `]}`)
		_ = b.Flush()
	})
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, maxBytes, n := live(), int64(0), 0
	info, err := c.List(t.Context(), Applications, Query{}, func(item []byte) error {
		if n++; n%(items/5) == 0 {
			maxBytes = max(maxBytes, live()-before)
		}
		return nil
	})
	if err != nil || info.Items != items || info.Bytes < int64(items*size) {
		t.Fatalf("%+v, %v", info, err)
	}
	if maxBytes > 4<<20 {
		t.Errorf("%d bytes are alive in the middle of a list of %d", maxBytes, info.Bytes)
	}
}

func FuzzSplitter(f *testing.F) {
	for _, s := range []string{smallList, `{"items":null}`, `{}`, `[]`, `{"items":[1,-0,1e9,"\ud800"]}`, `{"items":[]}x`, `{"a":1,"items":[{"b":[[[]]]}]}`, "{\"items\":[\"\xff\"]}"} {
		f.Add([]byte(s), uint8(7))
	}
	f.Fuzz(func(t *testing.T, body []byte, chunk uint8) {
		const maxBytes = 1 << 16
		if len(body) >= maxBytes {
			return
		}
		var items [][]byte
		small := bounds(maxBytes)
		small.Buffer = 16 // so that it has to move and to grow
		s := splitter{Reader: jsonstream.NewReader(streams.Equal(body, int(chunk)%16+1), small), maxBytes: maxBytes, keep: true}
		s.arrays = map[string]func([]byte) error{"items": func(item []byte) error {
			items = append(items, bytes.Clone(item))
			return nil
		}}
		err := s.readObject()
		if shape := (*shapeError)(nil); errors.As(err, &shape) {
			return
		}
		if deep := (*jsonstream.SyntaxError)(nil); errors.As(err, &deep) && strings.Contains(deep.What, "nesting") {
			return // encoding/json goes deeper
		}
		if (err == nil) != json.Valid(body) {
			t.Fatalf("%v, and encoding/json says %t", err, json.Valid(body))
		}
		if err != nil {
			return
		}
		if !json.Valid(s.rest.Bytes()) {
			t.Fatalf("the rest %q is no JSON", s.rest.Bytes())
		}
		var want struct {
			Items []json.RawMessage `json:"items"`
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(body, &keys) != nil {
			t.Fatal("no object passed as one")
		}
		if err := json.Unmarshal(append(append([]byte(`{"items":`), orNull(keys["items"])...), '}'), &want); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(items, want.Items, func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q, want %q", items, want.Items)
		}
	})
}

func orNull(b []byte) []byte {
	if b == nil {
		return []byte("null")
	}
	return b
}
