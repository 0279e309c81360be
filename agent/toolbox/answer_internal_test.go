package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

func TestDecodeBoundsWhatItHolds(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", 1000)
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%q},{"type":"text","text":%q}],"structuredContent":{"x":%q}}}`, text, text, text)
	a, err := decode(strings.NewReader(message), 1001)
	if err != nil {
		t.Fatal(err)
	}
	out := a.output("x")
	if out.Size != 4001 || !strings.HasPrefix(out.Text, strings.Repeat("ä", 500)+"\n[3001 more bytes were left out") || !utf8.ValidString(out.Text) {
		t.Errorf("%d bytes: %q", out.Size, out.Text[950:])
	}
	a, err = decode(strings.NewReader(`{"result":{"structuredContent":{"x":"`+text+`"}}}`), 100)
	if err != nil {
		t.Fatal(err)
	}
	if out := a.output("x"); out.Size != 2008 || len(out.Text) > 200 {
		t.Errorf("%d bytes: %q", out.Size, out.Text)
	}
}

// The digest of a kept result is that of the whole, whatever page and handle come.
func TestDecodeReadsTheDigest(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0123456789abcdef", 4)
	for message, want := range map[string]string{
		`{"result":{"content":[],"_meta":{"plimsoll/result":{"handle":"r_x","bytes":5,"sha256":"` + sum + `"}}}}`: sum,
		`{"result":{"content":[],"_meta":{"plimsoll/result":{"handle":"r_x","bytes":5}}}}`:                        "",
		`{"result":{"content":[],"_meta":{"other":{"sha256":"` + sum + `"}}}}`:                                    "",
		`{"result":{"content":[],"_meta":{"plimsoll/result":{"sha256":"` + strings.Repeat(sum, 9) + `"}}}}`:       "",
	} {
		a, err := decode(strings.NewReader(message), 100)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.output("x").Digest; got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

func TestDecodeOfWhatIsNoResponse(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		``:                                       "unexpected EOF",
		`{"result":{"con`:                        "unexpected EOF",
		`{"id":1}`:                               "neither a result nor an error",
		`[]`:                                     `'[' where '{' was to come`,
		`{"result":{]}`:                          "byte 11",
		`{"result":{"a":}}`:                      "closes nothing",
		`{"result":{"content":[{"text":"\x"}]}}`: "an escape that JSON does not have",
		"{\"result\":{\"content\":[{\"text\":\"\n\"}]}}":     "a control character",
		`{"x":` + strings.Repeat("[", rawjson.MaxDepth+1):    "nested too deep",
		`{"result":{"x":` + strings.Repeat("9", (64<<10)+1):  "a number without end",
		`{"result":{"content":` + strings.Repeat(`[`, 20000): "nested too deep",
	} {
		_, err := decode(strings.NewReader(message), 100)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s gave %v, not %q", message, err, want)
		}
	}
	late := errors.New("the line is cut")
	if _, err := decode(io.MultiReader(strings.NewReader(`{"result":{"content":[`), iotest.ErrReader(late)), 100); !errors.Is(err, late) {
		t.Errorf("the reader's error became %v", err)
	}
}

func TestDecodeOfRefusals(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"error":{"code":-32602,"message":"no such tool"}}`:        "no such tool (code -32602)",
		`{"error":{"code":1,"message":"bad","data":{"field":"x"}}}`: `bad (code 1): {"field":"x"}`,
		`{"error":{}}`:     "srv refused the call without saying why",
		`{"error":"boom"}`: `"boom"`,
		`{"error":{"message":"a\ud83d\ude00\ud83db"}}`: "a😀\uFFFDb",
	} {
		a, err := decode(strings.NewReader(message), 100)
		if err != nil {
			t.Errorf("%s: %v", message, err)
			continue
		}
		if out := a.output("srv"); out.Text != want || !out.Failed {
			t.Errorf("%s gave %q, not %q", message, out.Text, want)
		}
	}
}

// FuzzDecode: the same bytes give the same in any pieces, what is held is bounded and valid
// UTF-8, and what is no JSON is never taken for a response of which all is known.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\u00e4\ud83d\ude00"}],"isError":false}}`,
		`{"result":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x","blob":"AA=="}}]}}`,
		`{"error":{"code":-1,"message":"x","data":[1,{"a":"}"}]}}`,
		`{"result":{"structuredContent":{"a":[1,2,{"b":"\"]"}]},"_meta":{"plimsoll/result":{"bytes":12}}}}`,
		"{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xc3\"}]}}",
		`{"result":{"structuredContent":"\ä"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		a, err := decode(bytes.NewReader(message), 64)
		b, again := decode(iotest.OneByteReader(bytes.NewReader(message)), 64)
		if (err == nil) != (again == nil) || !reflect.DeepEqual(a, b) {
			t.Fatalf("in pieces it is another: %v, %v\n%+v\n%+v", err, again, a, b)
		}
		if err != nil {
			return
		}
		out := a.output("x")
		if !utf8.ValidString(out.Text) {
			t.Errorf("no UTF-8: %q", out.Text)
		}
		if most := 64 + maxError + maxData + 200; len(out.Text) > most {
			t.Errorf("%d bytes are held", len(out.Text))
		}
	})
}

// FuzzText: any text comes out of a response as it went in.
func FuzzText(f *testing.F) {
	f.Add("", "a")
	f.Add("line\n\t\"\\\x00", "😀 \u2028 </script>")
	f.Fuzz(func(t *testing.T, one, two string) {
		one, two = strings.ToValidUTF8(one, "\uFFFD"), strings.ToValidUTF8(two, "\uFFFD")
		type block struct {
			Text string `json:"text"`
			Type string `json:"type"`
		}
		message, err := json.Marshal(map[string]any{"result": map[string]any{"content": []block{{one, "text"}, {two, "text"}}}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := decode(bytes.NewReader(message), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want := one + "\n" + two
		if one == "" {
			want = two
		}
		if string(a.text.Text) != want || a.text.Size != int64(len(want)) {
			t.Errorf("%q became %q", want, a.text.Text)
		}
	})
}
