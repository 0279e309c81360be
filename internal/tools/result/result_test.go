package result

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

const who = "principal"

func open(t testing.TB) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func options(s *spool.Spool) Options {
	return Options{Method: CallTool, ID: "7", MaxItems: DefaultMaxItems, Spool: s, Source: spool.Source{Principal: who, Server: "s", Tool: "t"}}
}

// pieces reads a text in pieces of the sizes that cuts says, over and over, and ends with err.
type pieces struct {
	text []byte
	cuts []byte
	i    int
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		return 0, io.EOF
	}
	n := len(p.text)
	if len(p.cuts) > 0 {
		n = int(p.cuts[p.i%len(p.cuts)]) + 1
		p.i++
	}
	n = copy(b, p.text[:min(n, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

// bound runs Bound and returns what was delivered, whole.
func bound(t testing.TB, f *transport.Frame, o Options) ([]byte, Outcome) {
	t.Helper()
	var got []byte
	times := 0
	o.Deliver = func(f *transport.Frame) {
		times++
		var err error
		if got, err = io.ReadAll(f.Reader()); err != nil {
			t.Errorf("what was delivered cannot be read: %v", err)
		}
	}
	out := Bound(context.Background(), f, o)
	if times > 1 {
		t.Fatalf("delivered %d times", times)
	}
	if times == 1 && out.Delivered != int64(len(got)) {
		t.Errorf("Delivered is %d, %d bytes came", out.Delivered, len(got))
	}
	return got, out
}

func frame(text string, cuts ...byte) *transport.Frame {
	if len(cuts) == 0 {
		return &transport.Frame{Head: []byte(text)}
	}
	n := min(len(text), int(cuts[0]))
	return &transport.Frame{Head: []byte(text[:n]), Rest: &pieces{text: []byte(text[n:]), cuts: cuts}}
}

func quoted(s string) string { return string(rawjson.Quote(nil, s)) }

func textResponse(text string) string {
	return `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":` + quoted(text) + `}]}}`
}

// answer is a delivered message as a client decodes it.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Result *struct {
		Content []struct {
			Type, Text, Data, MimeType string
			Annotations                json.RawMessage
			Resource                   *struct{ URI, Text, Blob, MimeType string }
		} `json:"content"`
		Contents []struct {
			URI, Text, Blob, MimeType string
		} `json:"contents"`
		Structured json.RawMessage            `json:"structuredContent"`
		IsError    bool                       `json:"isError"`
		Meta       map[string]json.RawMessage `json:"_meta"`
		ResultType string                     `json:"resultType"`
		CacheScope string                     `json:"cacheScope"`
		NextCursor string                     `json:"nextCursor"`
	} `json:"result"`
}

type meta struct {
	Handle     string `json:"handle"`
	Bytes      int64  `json:"bytes"`
	TotalItems int64  `json:"total_items"`
	Page       int    `json:"page"`
	PageSize   int    `json:"page_size"`
	TotalPages int64  `json:"total_pages"`
	Complete   bool   `json:"complete"`
	SHA256     string `json:"sha256"`
}

func decode(t testing.TB, raw []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("not JSON (%v): %.300q", err, raw)
	}
	return a
}

func metaOf(t testing.TB, a answer) meta {
	t.Helper()
	var m meta
	d := json.NewDecoder(bytes.NewReader(a.Result.Meta[MetaKey]))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("_meta: %v in %s", err, a.Result.Meta[MetaKey])
	}
	return m
}

// texts is all that a model reads of a result.
func (a answer) texts() (n int) {
	for _, b := range a.Result.Content {
		n += len(b.Text)
		if b.Resource != nil {
			n += len(b.Resource.Text)
		}
	}
	for _, b := range a.Result.Contents {
		n += len(b.Text)
	}
	return n + len(a.Result.Structured)
}

// list is a JSON array of n objects of about size bytes each.
func list(n, size int) string {
	var b strings.Builder
	b.WriteString(`{"total":` + string(json.Number(itoa(n))) + `,"items":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"id":` + itoa(i) + `,"big":12345678901234567890,"name":` + quoted(strings.Repeat("x", size)) + `}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestUnderTheBoundsEveryByteIsTheServers(t *testing.T) {
	s := open(t)
	for _, text := range []string{
		textResponse("hello"),
		`{"result" : { "content":[ {"text":"\u00e9\ud83d\ude00\/ <&>","type":"text"} ] , "x":12345678901234567890.10}, "id":7, "jsonrpc":"2.0"}` + "  ",
		`{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"b":1,"a":90071992547409931},"isError":true}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\ud800 broken ` + "\xff" + ` utf-8"}]}}`,
		`{"jsonrpc":"2.0","id":7,"result":[1,2`, `nonsense`, ``, `[]`, `{"jsonrpc":"2.0","id":7,"result":{}} trailing`,
		textResponse(strings.Repeat("x", int(DefaultMaxText))),
		textResponse(list(DefaultMaxItems, 1)),
	} {
		for _, f := range []*transport.Frame{frame(text), frame(text, 0), frame(text, 3, 1, 200)} {
			got, out := bound(t, f, options(s))
			if string(got) != text {
				t.Errorf("%.200q became %.200q", text, got)
			}
			if out.Spilled || out.Upstream != int64(len(text)) || out.Cut != nil {
				t.Errorf("%.100q: %+v", text, out)
			}
		}
	}
}

func TestALargeResultIsAPageAndANotice(t *testing.T) {
	s := open(t)
	doc := list(819, 100)
	text := `{"jsonrpc":"2.0","x-trace":[1],"result":{"nextCursor":"c","cacheScope":"public","content":[{"type":"text","text":"Applications:"},{"type":"image","data":"aGk=","mimeType":"image/png"},` +
		`{"text":` + quoted(doc) + `,"annotations":{"priority":1},"type":"text"}],"structuredContent":` + doc + `,"_meta":{"a":1}},"id":"a-7"}`
	got, out := bound(t, frame(text, 9, 250), options(s))
	a := decode(t, got)
	if !out.Spilled || out.Items != 819 || out.ID != `"a-7"` || string(a.ID) != `"a-7"` || out.Failed || out.Upstream != int64(len(text)) {
		t.Fatalf("%+v", out)
	}
	r := a.Result
	if len(r.Content) != 4 || r.Content[0].Text != "Applications:" || r.Content[1].Data != "aGk=" || string(r.Content[2].Annotations) != `{"priority":1}` {
		t.Fatalf("%.2000s", got)
	}
	var page struct {
		Total int
		Items []struct{ ID int }
	}
	if err := json.Unmarshal([]byte(r.Content[2].Text), &page); err != nil || page.Total != 819 || len(page.Items) != 20 {
		t.Errorf("page: %v, %+v", err, page)
	}
	if !strings.Contains(r.Content[2].Text, "12345678901234567890") {
		t.Error("a big integer lost digits")
	}
	m := metaOf(t, a)
	if want := (meta{out.Handle, int64(len(doc)), 819, 1, 20, 41, true, fmt.Sprintf("%x", sha256.Sum256([]byte(doc)))}); m != want {
		t.Errorf("_meta %+v, want %+v", m, want)
	}
	if r.Structured != nil || r.CacheScope != "private" || r.NextCursor != "c" || string(r.Meta["a"]) != "1" {
		t.Errorf("%s", got)
	}
	notice := r.Content[3].Text
	for _, want := range []string{`result_page {"handle":"` + out.Handle + `","page":2}`, "1-20 of 819", "result_search", `"query":".items[]"`} {
		if !strings.Contains(notice, want) {
			t.Errorf("the notice lacks %q: %s", want, notice)
		}
	}
	if len(notice) > MaxNotice || a.texts() > int(DefaultMaxText)+MaxNotice {
		t.Errorf("%d bytes of notice, %d of text", len(notice), a.texts())
	}
	t.Log(notice)
}

func TestALongListIsPagedThoughItIsSmall(t *testing.T) {
	s := open(t)
	for name, text := range map[string]string{
		"text":       textResponse(list(101, 1)),
		"structured": `{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":` + list(101, 1) + `}}`,
		"blocks":     `{"jsonrpc":"2.0","id":7,"result":{"content":[` + strings.Repeat(`{"type":"text","text":"b"},`, 100) + `{"type":"text","text":"end"}]}}`,
	} {
		got, out := bound(t, frame(text, 100), options(s))
		if !out.Spilled || out.Items != 101 {
			t.Errorf("%s: %+v %.300s", name, out, got)
			continue
		}
		if m := metaOf(t, decode(t, got)); m.TotalItems != 101 || m.TotalPages != 6 {
			t.Errorf("%s: %+v", name, m)
		}
		o := options(s)
		o.MaxItems = 0
		if got, _ := bound(t, frame(text, 100), o); string(got) != text {
			t.Errorf("%s: paged without a bound on items", name)
		}
	}
}

func TestErrorsStayErrorsAndAreBounded(t *testing.T) {
	s := open(t)
	long := "first line\n" + strings.Repeat("at frame of the stack\n", 100_000) + "the cause"
	got, out := bound(t, frame(`{"jsonrpc":"2.0","id":7,"result":{"isError":true,"content":[{"type":"text","text":`+quoted(long)+`}]}}`, 200), options(s))
	if a := decode(t, got); !a.Result.IsError || !out.Failed || !out.Spilled || a.texts() > int(DefaultMaxText)+MaxNotice {
		t.Errorf("%+v %.500s", out, got)
	}
	got, out = bound(t, frame(`{"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":`+quoted(long)+`,"data":[`+strings.Repeat("1,", 50_000)+`1]}}`, 200), options(s))
	a := decode(t, got)
	if !out.Failed || out.Spilled || a.Error.Code != -5 || len(a.Error.Message) > int(DefaultMaxText) || a.Error.Data != nil {
		t.Fatalf("%+v %.500s", out, got)
	}
	if !strings.HasPrefix(a.Error.Message, "first line") || !strings.HasSuffix(a.Error.Message, "the cause") || !strings.Contains(a.Error.Message, "2.09 MiB of this message cut") {
		t.Errorf("%.300s … %s", a.Error.Message, a.Error.Message[len(a.Error.Message)-300:])
	}
}

func TestMediaOverTheBoundIsNamedAndKept(t *testing.T) {
	s := open(t)
	o := options(s)
	o.MaxMedia = 100 * limit.KiB
	small, big := strings.Repeat("QUJD", 20<<10), strings.Repeat("REVG", 30<<10)
	text := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"image","data":"` + small + `","mimeType":"image/png"},{"type":"text","text":"between"},` +
		`{"mimeType":"audio/wav","type":"audio","data":"` + strings.ReplaceAll(big, "F", `\u0046`) + `"},{"type":"resource","resource":{"uri":"a:b","blob":"` + small[:8] + `"}}]}}`
	got, out := bound(t, frame(text, 255), o)
	a := decode(t, got)
	if len(a.Result.Content) != 4 || a.Result.Content[0].Data != small || a.Result.Content[1].Text != "between" {
		t.Fatalf("%+v %d", out, len(a.Result.Content))
	}
	if c := a.Result.Content[2]; c.Type != "text" || !strings.Contains(c.Text, "audio/wav") || !strings.Contains(c.Text, out.Handle) {
		t.Errorf("%+v", c)
	}
	o.MaxMedia = limit.MiB
	if got, _ := bound(t, frame(text, 255), o); string(got) != text {
		t.Error("under the bound it was changed")
	}
}

func TestWhatStandsBesideAPageIsBounded(t *testing.T) {
	s := open(t)
	link := `{"type":"resource_link","uri":"file:///some/where","name":"` + strings.Repeat("n", 300) + `"},`
	o := options(s)
	o.MaxMedia = 1000
	for name, content := range map[string]string{
		"links":            strings.Repeat(link, 200),
		"links and a text": strings.Repeat(link, 20) + `{"type":"text","text":` + quoted(list(500, 30)) + `},` + strings.Repeat(link, 20),
		"media":            strings.Repeat(`{"type":"image","mimeType":"image/png","data":"`+strings.Repeat("QUJD", 1000)+`"},`, 50) + strings.Repeat(link, 20),
		"media then text":  `{"type":"image","data":"` + strings.Repeat("QUJD", 1000) + `"},` + strings.Repeat(link, 20) + `{"type":"text","text":` + quoted(list(500, 30)) + `},`,
	} {
		text := `{"jsonrpc":"2.0","id":7,"result":{"content":[` + content + `{"type":"text","text":"end"}]}}`
		got, out := bound(t, frame(text, 100), o)
		if a := decode(t, got); !out.Spilled || a.texts() > int(DefaultMaxText)+3*MaxNotice || len(got) > 20_000 {
			t.Errorf("%s: %d bytes, %d of text: %+v", name, len(got), a.texts(), out)
		}
	}
}

func TestResources(t *testing.T) {
	s := open(t)
	o := options(s)
	o.Method = ReadResource
	o.MaxMedia = 1000
	text := `{"jsonrpc":"2.0","id":7,"result":{"ttlMs":5,"contents":[{"uri":"file:///a","mimeType":"text/x","text":` + quoted(strings.Repeat("line\n", 10_000)) + `},{"uri":"file:///b","blob":"` + strings.Repeat("QUJD", 1000) + `"}]}}`
	got, out := bound(t, frame(text, 100), o)
	c := decode(t, got).Result.Contents
	if !out.Spilled || len(c) != 3 || c[0].URI != "file:///a" || c[0].MimeType != "text/x" || !strings.HasPrefix(c[0].Text, "line\n") {
		t.Fatalf("%+v %.300s", out, got)
	}
	if c[1].URI != "file:///b" || c[1].Blob != "" || !strings.Contains(c[1].Text, "not delivered") || c[2].URI == "" || !strings.Contains(c[2].Text, "result_page") {
		t.Errorf("%+v", c[1:])
	}
}

func TestWhatIsNoResultOfATextPasses(t *testing.T) {
	o := options(open(t))
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct{ method, text string }{
		{"prompts/get", textResponse(big)},
		{CallTool, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + big + `"}}`},
		{CallTool, `{"params":{"text":"` + big + `"},"id":3,"method":"sampling/createMessage"}`},
	} {
		o.Method = c.method
		if got, out := bound(t, frame(c.text, 50, 200), o); string(got) != c.text || out.Spilled || out.Cut != nil {
			t.Errorf("%s: %d bytes became %d: %+v", c.method, len(c.text), len(got), out)
		}
	}
}

func TestTheSpoolIsFull(t *testing.T) {
	s, err := spool.Open(spool.Options{Dir: t.TempDir(), MaxBytes: 2 * limit.MiB})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, o := range map[string]Options{"quota": options(s), "none": options(nil)} {
		got, out := bound(t, frame(textResponse(strings.Repeat("some line\n", 1<<20)), 255), o)
		a := decode(t, got)
		if a.Result.IsError || out.Failed || out.Cut == nil || out.Spilled || a.texts() > int(DefaultMaxText)+MaxNotice {
			t.Errorf("%s: %+v %.300s", name, out, got)
		}
		if !strings.Contains(a.Result.Content[0].Text, "could not be kept") || !strings.HasPrefix(a.Result.Content[1].Text, "some line\n") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

func TestAFrameOverTheLimitCostsOneCall(t *testing.T) {
	o := options(open(t))
	o.MaxFrame = 100 * limit.KiB
	got, out := bound(t, frame(textResponse(list(10_000, 100)), 255), o)
	a := decode(t, got)
	if _, ok := errors.AsType[*TooLarge](out.Cut); !ok || a.Error == nil || !out.Spilled || !strings.Contains(a.Error.Message, out.Handle) {
		t.Errorf("%+v %s", out, got)
	}
}
