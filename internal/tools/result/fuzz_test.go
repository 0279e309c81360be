package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

// trace writes down what the lexer tells, with the pieces of a value joined.
type trace struct {
	bytes.Buffer
}

func (t *trace) open(p place, key []byte)            { fmt.Fprintf(t, "open %d %q\n", p, key) }
func (t *trace) close(p place)                       { fmt.Fprintf(t, "close %d\n", p) }
func (t *trace) begin(f field, in place, key []byte) { fmt.Fprintf(t, "begin %d %d %q [", f, in, key) }
func (t *trace) piece(p []byte)                      { t.Write(p) }
func (t *trace) end()                                { t.WriteString("] end\n") }

// lex gives the trace of a text in pieces of these sizes.
func lex(text, method string, cuts []byte) string {
	var (
		t   trace
		l   lexer
		err error
	)
	l.reset(&t, method)
	for i := 0; len(text) > 0 && err == nil; i++ {
		n := len(text)
		if len(cuts) > 0 {
			n = min(n, int(cuts[i%len(cuts)])+1)
		}
		err = l.Feed([]byte(text[:n]))
		text = text[n:]
	}
	if err == nil {
		err = l.Finish()
	}
	l.Abandon()
	return fmt.Sprintf("%s%v trailed %v", t.String(), err, l.Trailed)
}

var samples = []string{
	`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\n\"b\\\u0041\ud83d\ude00\ud83d\ud83dx\ude00\u12"},{"text":"t","type":"text"}]}}`,
	`{"result":{"content":[{"type":"image","data":"QUJD\/","mimeType":"image/png"},{"type":"resource","resource":{"uri":"u","text":"t","blob":"Yg=="}},5,"s"],"structuredContent":{"a":[1,2,{"b":[]}]},"_meta":{"x":1},"isError":true,"new":[[]]},"id":"x"}`,
	`{"id":7,"result":{"contents":[{"uri":"u","mimeType":"m","text":"abc"},{"blob":"QQ==","uri":"v"}],"nextCursor":"c","ttlMs":5,"cacheScope":"public"}}`,
	`{"id":1e400,"error":{"code":-32000,"message":"m\u0000","data":{"d":null}},"method":"x"}`,
	`{"id":7,"id":8,"result":{"content":[{"text":"a","text":"b"}],"content":[],"te\u0078t":1}} x`,
	`{"id":7,"result":{"content":[{"text":"` + strings.Repeat("0123456789", 200) + `"}]}}`,
	`{"id":7,"result":{"taskId":"a","result":{"content":[{"type":"text","text":"aaa\n"}],"structuredContent":{"a":[1]}},"ttlMs":1}}`,
	`{"id":7,"result":{"taskId":"a","status":"failed","error":{"code":-32000,"message":"aaa"}}}`,
	`{"id":7,"result":{"content":[{"text":"[1,2,3,4,5,6,7,8,9,10]"}],"structuredContent":[1,[2],3]}}`,
	`{"id":7,"result":{"structuredContent":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}}`,
	"{\"id\":7,\"result\":{\"content\":[{\"text\":\"\xff\xc3\"}]}", `[`, `{`, `{"a`, `{"a":}`, `{"a":1,}`, `{"result":{"content":[{]}}`,
}

func FuzzAnyChunkingTellsTheSame(f *testing.F) {
	for i, s := range samples {
		f.Add(s, i%2 == 0, []byte{0})
		f.Add(s, i%3 == 0, []byte{2, 0, 6})
	}
	f.Fuzz(func(t *testing.T, text string, resource bool, cuts []byte) {
		methods := []string{CallTool, GetTask}
		if resource {
			methods = []string{ReadResource}
		}
		for _, method := range methods {
			want := lex(text, method, nil)
			if got := lex(text, method, cuts); got != want {
				t.Errorf("in pieces:\n%s\nat once:\n%s", got, want)
			}
		}
	})
}

// FuzzBound holds what is promised of any frame: under the bounds it is the server's, byte
// for byte; else it is JSON for the same request, with bounded text, and the same for
// every chunking.
func FuzzBound(f *testing.F) {
	for i, s := range samples {
		f.Add(s, []byte{byte(i)}, i%2 == 0, uint16(0))
		f.Add(strings.ReplaceAll(s, "a", strings.Repeat("long words ", 300)), []byte{3, 0}, i%2 == 0, uint16(40))
		f.Add(strings.ReplaceAll(s, "1", strings.Repeat("1,", 300)+"1"), []byte{3, 0}, false, uint16(9000))
	}
	s := open(f)
	f.Fuzz(func(t *testing.T, text string, cuts []byte, resource bool, end uint16) {
		if len(text) > 64<<10 {
			return
		}
		o := options(s)
		o.MaxText, o.MaxMedia, o.MaxItems = 2000, 300, 8
		if resource {
			o.Method = ReadResource
		} else if strings.Contains(text, "taskId") {
			o.Method = GetTask
		}
		cut := frame(text, append([]byte{200}, cuts...)...)
		if end > 0 && int(end) < len(text) {
			cut = frame(text[:end], append([]byte{50}, cuts...)...)
			cut.Rest.(*pieces).err = errBroken
		}
		broken := end > 0 && int(end) < len(text)
		got, out := bound(t, cut, o)
		if !broken {
			whole, out2 := bound(t, frame(text), o)
			a := bytes.ReplaceAll(got, []byte(out.Handle), []byte("H"))
			b := bytes.ReplaceAll(whole, []byte(out2.Handle), []byte("H"))
			if out.Handle == "" {
				a, b = got, whole
			}
			if !bytes.Equal(a, b) {
				t.Errorf("in pieces\n%s\nat once\n%s", a, b)
			}
		}
		if !broken && string(got) == text {
			return
		}
		if got == nil && broken && bytes.Contains([]byte(text), []byte("method")) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("not JSON: %q\nfrom %q", got, text)
		}
		var a answer
		if json.Unmarshal(got, &a) == nil && a.Result != nil && a.texts() > 2000+3*MaxNotice {
			t.Errorf("%d bytes of text: %s", a.texts(), got)
		}
		if a.Error != nil && len(a.Error.Message) > 2000+MaxNotice {
			t.Errorf("%d bytes of message", len(a.Error.Message))
		}
		if o.Method != GetTask && int64(len(got)) > 2000*6+2*MaxKept+3*MaxNotice*2 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// Any JSON under the bounds passes byte for byte; FuzzBound cannot know which is.
func FuzzSmallPassesUnchanged(f *testing.F) {
	for _, s := range samples {
		f.Add(s, []byte{7})
	}
	s := open(f)
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		o := options(s)
		if len(text) > int(DefaultMaxText) {
			return
		}
		o.MaxItems = 0
		if got, out := bound(t, frame(text, cuts...), o); string(got) != text || out.Spilled {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestNestingBombs(t *testing.T) {
	o := options(open(t))
	o.MaxText = 100 * limit.KiB
	deep := func(n int) string {
		return `{"id":7,"result":{"structuredContent":` + strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) + `}}`
	}
	if got, out := bound(t, frame(deep(MaxDepth), 100), o); string(got) != deep(MaxDepth) || out.Cut != nil {
		t.Errorf("as deep as decoders go: %v", out.Cut)
	}
	got, out := bound(t, frame(deep(100*MaxDepth), 100), o)
	if a := decode(t, got); a.Error == nil || !strings.Contains(a.Error.Message, "nested more than 10000 deep") {
		t.Errorf("%+v %.300s", out, got)
	}
}
