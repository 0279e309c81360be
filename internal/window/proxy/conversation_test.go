package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// scripting runs a scripted provider behind a proxy.
func scripting(t *testing.T, so scripted.Options, o Options) (*scripted.Provider, *Proxy, string, *journal.Journal) {
	t.Helper()
	provider := scripted.New(so)
	upstream := httptest.NewServer(provider)
	t.Cleanup(upstream.Close)
	p, root, j := start(t, upstream.URL, o)
	return provider, p, root, j
}

// asked are the model requests that arrived.
func asked(p *scripted.Provider) []*scripted.Recorded {
	return slices.DeleteFunc(p.Requests(), func(r *scripted.Recorded) bool { return r.Kind != "model" })
}

func windowOf(tokens int) *models.Resolver {
	return models.NewResolver(models.Options{Overrides: models.Overrides{Max: tokens}})
}

func memoryStore(t *testing.T) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Requests of real clients go through byte for byte, headers included, packed ones too.
func TestRecordedRequestsAreUntouched(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../window/wire/testdata/recorded/*.headers")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d recorded requests (%v): this test would hold nothing", len(files), err)
	}
	upstream, requests := rawUpstream(t, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	_, root, j := start(t, upstream, Options{Store: memoryStore(t)})
	for _, file := range files {
		name := strings.TrimSuffix(file, ".headers")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		encoding := ""
		body, err := os.ReadFile(name + ".json")
		if err != nil {
			if body, err = os.ReadFile(name + ".json.zst"); err != nil {
				t.Fatal(err)
			}
			encoding = "zstd"
		}
		for _, packing := range []string{"", "gzip", "br", "zstd"} {
			sent := body
			if encoding == "" && packing != "" {
				sent = packedAs(t, packing, body)
			} else if packing != encoding {
				continue
			}
			t.Run(filepath.Base(name)+packing, func(t *testing.T) {
				line, headers := recordedHead(string(raw))
				_, path, _ := strings.Cut(line, " ")
				path, _, _ = strings.Cut(path, " ")
				prefix := "/openai"
				switch {
				case strings.Contains(path, "/messages"):
					prefix = "/anthropic"
				case strings.Contains(path, "Content"):
					prefix = "/gemini"
				}
				var request strings.Builder
				request.WriteString("POST " + prefix + path + " HTTP/1.1\r\nHost: " + strings.TrimPrefix(root, "http://") + "\r\nConnection: close\r\n")
				want := []string{"host: " + strings.TrimPrefix(upstream, "http://"), fmt.Sprintf("content-length: %d", len(sent))}
				if packing != "" {
					headers = append(headers, "Content-Encoding: "+packing)
				}
				for _, h := range headers {
					request.WriteString(h + "\r\n")
					key, value, _ := strings.Cut(h, ":")
					want = append(want, strings.ToLower(key)+":"+value)
				}
				before := len(events[journal.WindowRequest](j))
				answer := roundTrip(t, root, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", request.String(), len(sent), sent))
				first, got, text := head(received(t, requests, answer))
				if wantLine := "POST " + path + " HTTP/1.1"; first != wantLine && first != strings.Replace(wantLine, "POST /responses", "POST /v1/responses", 1) {
					t.Errorf("the request line is %q, want %q", first, wantLine)
				}
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("the headers are\n%q, want\n%q", got, want)
				}
				if text != string(sent) {
					t.Errorf("the body was changed: %d bytes, want %d", len(text), len(sent))
				}
				found := events[journal.WindowRequest](j)
				if len(found) != before+1 {
					t.Fatalf("it was not looked into: %+v", events[journal.WindowPassed](j))
				}
				if e := found[before]; e.Tokens < 1000 || e.LimitTokens < 100_000 || e.ReceivedBytes != int64(len(sent)) || e.ForwardedBytes != e.ReceivedBytes {
					t.Errorf("the journal has %+v", e)
				}
			})
		}
	}
}

// recordedHead reads a kept request line and its headers, less those of the connection.
func recordedHead(raw string) (line string, headers []string) {
	for i, h := range strings.Split(strings.ReplaceAll(strings.TrimSpace(raw), "\r\n", "\n"), "\n") {
		name, value, ok := strings.Cut(h, ":")
		switch {
		case i == 0:
			line = h
		case !ok || slices.Contains([]string{"host", "content-length", "connection", "content-encoding", "transfer-encoding"}, strings.ToLower(name)):
		default:
			headers = append(headers, name+": "+strings.TrimSpace(value))
		}
	}
	return line, headers
}

func TestRoomIsMadeBeforeTheLimit(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		t.Run(d.String(), func(t *testing.T) {
			const window = 20_000
			provider, _, root, j := scripting(t, scripted.Options{Window: window}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
			k := talkIn(d)
			for turn := range 60 {
				if res, text := k.ask(t, root, turn); res.StatusCode != http.StatusOK {
					t.Fatalf("turn %d: %s %.300s", turn, res.Status, text)
				}
			}
			if provider.Refused() > 0 {
				t.Errorf("%d requests were over the limit", provider.Refused())
			}
			compacted := events[journal.WindowCompacted](j)
			if len(compacted) == 0 || len(compacted) > 12 {
				t.Errorf("%d compactions in 60 turns", len(compacted))
			}
			// What belongs to one request has its number.
			requests, responses := events[journal.WindowRequest](j), events[journal.WindowResponse](j)
			for i := range requests {
				if requests[i].Request != uint64(i+1) || responses[i].Request != uint64(i+1) {
					t.Fatalf("request %d has the number %d, its response %d", i+1, requests[i].Request, responses[i].Request)
				}
			}
			for _, c := range compacted {
				if c.Request < 2 || requests[c.Request-1].Tokens > c.After+c.After/10 || requests[c.Request-1].Tokens >= requests[c.Request-2].Tokens {
					t.Errorf("a compaction to %d tokens is said to be of request %d", c.After, c.Request)
				}
			}
			for i, r := range asked(provider) {
				if !bytes.Contains(r.Body, []byte(task)) {
					t.Fatalf("request %d lost the task", i)
				}
			}
			// Between compactions each body extends the one before: the provider's cache keeps hitting.
			broken := 0
			last := ""
			for _, r := range asked(provider) {
				now := aConversation(t, d, r.Body)
				if !strings.HasPrefix(now, last) {
					broken++
				}
				last = now
			}
			if broken > len(compacted) {
				t.Errorf("%d bodies do not extend the one before, with %d compactions", broken, len(compacted))
			}
		})
	}
}

// conversation is the head and the messages of a body but the last, marks left out.
func aConversation(t *testing.T, d wire.Dialect, body []byte) string {
	t.Helper()
	r, err := wire.Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.FingerprintHead(func(p []byte) { b.Write(p) })
	newest := 1
	if d == wire.Gemini {
		newest = 2
	}
	for i := range len(r.Messages) - newest {
		r.Fingerprint(i, func(p []byte) { b.Write(p) })
		b.WriteByte('\n')
	}
	return b.String()
}

func TestReplicaSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const window = 20_000
	provider := scripted.New(scripted.Options{Window: window})
	upstream := httptest.NewServer(provider)
	defer upstream.Close()
	var roots []string
	for range 2 {
		store, err := checkpoint.Open(checkpoint.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		_, root, _ := start(t, upstream.URL, Options{Resolver: windowOf(window), Store: store})
		roots = append(roots, root)
	}
	k := talkIn(wire.Messages)
	k.marks = true
	for turn := 30; turn < 45; turn++ {
		for _, root := range roots {
			if res, text := k.ask(t, root, turn); res.StatusCode != http.StatusOK {
				t.Fatalf("turn %d: %s %.300s", turn, res.Status, text)
			}
		}
	}
	list := asked(provider)
	for i := 0; i+1 < len(list); i += 2 {
		if !bytes.Equal(list[i].Body, list[i+1].Body) {
			t.Fatalf("turn %d: the replicas sent different bytes", 30+i/2)
		}
	}
	if len(list[0].Body) >= len(k.body(30)) {
		t.Error("nothing was cut: this test holds nothing")
	}
}

// packedAs packs a body as a client does, also in what the proxy only reads.
func packedAs(t testing.TB, encoding string, body []byte) []byte {
	t.Helper()
	if encoding != "br" {
		packed, err := wire.Encode(encoding, body)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	var out bytes.Buffer
	w := brotli.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A packed request that was edited goes on as packed as it came, but for brotli, which is only read: as it is then.
func TestEditedRequestsStayPacked(t *testing.T) {
	t.Parallel()
	const window = 20_000
	provider, _, root, _ := scripting(t, scripted.Options{Window: window}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	for encoding, sentOn := range map[string]string{"gzip": "gzip", "zstd": "zstd", "br": ""} {
		r, _ := http.NewRequest(http.MethodPost, root+k.path(), bytes.NewReader(packedAs(t, encoding, k.body(40))))
		r.Header.Set("Content-Encoding", encoding)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		list := asked(provider)
		got := list[len(list)-1]
		if res.StatusCode != 200 || got.Header.Get("Content-Encoding") != sentOn || len(got.Body) >= len(k.body(40)) {
			t.Errorf("%s: %s, %q, %d bytes", encoding, res.Status, got.Header.Get("Content-Encoding"), len(got.Body))
		}
		if actions := res.Header.Get(ActionsHeader); actions == "" || res.Header.Get(TokensHeader) == "" || res.Header.Get(LimitHeader) != fmt.Sprint(window) {
			t.Errorf("%s: the headers are %v", encoding, res.Header)
		}
	}
}

func TestObserveAndOffChangeNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Observe, Off} {
		provider, _, root, j := scripting(t, scripted.Options{Window: 5000}, Options{Mode: mode, Resolver: windowOf(5000)})
		k := talkIn(wire.Chat)
		res, text := k.ask(t, root, 20)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(text, "context_length_exceeded") {
			t.Errorf("%s: %s %.200s, want the provider's refusal", mode, res.Status, text)
		}
		list := asked(provider)
		if len(list) != 1 || !bytes.Equal(list[0].Body, k.body(20)) {
			t.Errorf("%s: %d requests, or another body", mode, len(list))
		}
		if n := len(events[journal.WindowRequest](j)); n != map[Mode]int{Observe: 1, Off: 0}[mode] {
			t.Errorf("%s: %d requests are journalled", mode, n)
		}
	}
}

func TestOrphansAreRepaired(t *testing.T) {
	t.Parallel()
	provider, _, root, j := scripting(t, scripted.Options{}, Options{})
	body := `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}]},{"role":"user","content":"what?"}]}`
	res, text := post(t, root+"/anthropic/v1/messages", body)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", res.Status, text)
	}
	if repaired := events[journal.WindowRepaired](j); len(repaired) == 0 || repaired[0].CallID != "toolu_1" {
		t.Errorf("the journal has %+v", repaired)
	}
	if !strings.HasPrefix(res.Header.Get(ActionsHeader), "repaired:") {
		t.Errorf("%s is %q", ActionsHeader, res.Header.Get(ActionsHeader))
	}
	if provider.Refused() != 0 {
		t.Error("the provider refused it")
	}
}

func TestWhatCannotFitIsRefusedInTheDialectsForm(t *testing.T) {
	t.Parallel()
	for d, want := range map[wire.Dialect]string{
		wire.Chat: `"code":"context_length_exceeded"`, wire.Responses: `"code":"context_length_exceeded"`,
		wire.Messages: `"message":"prompt is too long: `, wire.Gemini: `"status":"INVALID_ARGUMENT"`,
	} {
		provider, _, root, j := scripting(t, scripted.Options{Window: 2000}, Options{Resolver: windowOf(2000)})
		k := talkIn(d)
		body := bytes.Replace(k.body(1), []byte(task), []byte(strings.Repeat("It is a long task, and every word of it counts. ", 2000)), 1)
		res, text := post(t, root+k.path(), string(body))
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) || !strings.Contains(text, "message ") {
			t.Errorf("%v: %s %s, want 400 with %s and which message it is", d, res.Status, text, want)
		}
		if len(asked(provider)) != 0 {
			t.Errorf("%v: it was sent all the same", d)
		}
		if refused := events[journal.WindowRefused](j); len(refused) != 1 || refused[0].Reason != "does_not_fit" || refused[0].Request != 1 || refused[0].Model == "" {
			t.Errorf("%v: refused is %+v", d, refused)
		}
	}
}

func TestRequestsToStandAsideFrom(t *testing.T) {
	t.Parallel()
	provider, p, root, j := scripting(t, scripted.Options{Lenient: true}, Options{Resolver: windowOf(1024)})
	body := `{"model":"gpt-5.1","context_management":[{"type":"compaction","compact_threshold":900}],"input":[{"type":"message","role":"user","content":"` + strings.Repeat("word ", 5000) + `"}]}`
	post(t, root+"/openai/v1/responses", body)
	list := asked(provider)
	if len(list) != 1 || string(list[0].Body) != body {
		t.Errorf("%d requests arrived, or another body", len(list))
	}
	if passed := events[journal.WindowPassed](j); len(passed) != 1 || passed[0].Reason != "aside" || passed[0].Detail != "compacting" {
		t.Errorf("passed is %+v", passed)
	}
	// What the provider reports is of more than the request holds, and teaches nothing.
	if answered := events[journal.WindowResponse](j); len(answered) != 1 || answered[0].TokensIn == 0 || answered[0].Estimated != 0 {
		t.Errorf("answered is %+v", answered)
	}
	if stats := p.o.Usage.Stats(); stats.Reports+stats.Ignored != 0 {
		t.Errorf("the ledger took %+v", stats)
	}
}

// What nobody has looked into goes nowhere.
func TestAnUnknownContentEncodingIsRefused(t *testing.T) {
	t.Parallel()
	_, root, j := start(t, "http://127.0.0.1:1", Options{})
	for _, encoding := range []string{"br, gzip", "gzip, zstd", "compress"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+"/openai/v1/chat/completions", strings.NewReader("packed"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Encoding", encoding)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnsupportedMediaType || res.Header.Get("Accept-Encoding") != "gzip, deflate, br, zstd" || !strings.Contains(string(body), encoding) {
			t.Errorf("%s: %s %v %s", encoding, res.Status, res.Header, body)
		}
	}
	if refused := events[journal.WindowRefused](j); len(refused) != 3 || refused[0].Reason != "encoding" {
		t.Errorf("%+v", refused)
	}
}

func TestUnreadableBodiesPass(t *testing.T) {
	t.Parallel()
	upstream, requests := rawUpstream(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	_, root, j := start(t, upstream, Options{})
	for _, c := range []struct{ body, encoding, reason string }{
		{"not JSON", "", "unreadable"},
		{`[1,2,3]`, "", "unreadable"},
		{`{"model":"a","model":"b","messages":[]}`, "", "unreadable"},
		{strings.Repeat("[", 100_000), "", "unreadable"},
		{`{"messages":` + strings.Repeat("[", 100_000), "", "unreadable"},
		{"", "", "unreadable"},
		{"not gzip", "gzip", "unreadable"},
		{"not deflate", "deflate", "unreadable"},
		{"not brotli", "br", "unreadable"},
	} {
		before := len(events[journal.WindowPassed](j))
		extra := ""
		if c.encoding != "" {
			extra = "Content-Encoding: " + c.encoding + "\r\n"
		}
		answer := roundTrip(t, root, fmt.Sprintf("POST /openai/v1/chat/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", strings.TrimPrefix(root, "http://"), extra, len(c.body), c.body))
		if _, _, got := head(received(t, requests, answer)); got != c.body {
			t.Errorf("%.40q was changed to %.40q", c.body, got)
		}
		if passed := events[journal.WindowPassed](j); len(passed) != before+1 || passed[before].Reason != c.reason {
			t.Errorf("%.40q: passed is %+v, want reason %q", c.body, passed[before:], c.reason)
		}
	}
}
