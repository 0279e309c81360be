package toolserver

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

func (x *exchange) echo(arguments json.RawMessage) (body, error) {
	var a struct{ Text string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, badParams("Invalid arguments: %v", err)
	}
	return x.text(a.Text), nil
}

func (x *exchange) ownParams(json.RawMessage) (body, error) { return x.text(string(x.params)), nil }

func (x *exchange) headers(json.RawMessage) (body, error) {
	h := maps.Clone(x.header)
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
		delete(h, name)
	}
	b, err := json.Marshal(map[string][]string(h))
	return x.text(string(b)), err
}

func (x *exchange) structured(json.RawMessage) (body, error) {
	return x.complete(-1, raw(`"content":[{"type":"text","text":"{\"temperature\":21.50,\"sky\":\"clear\"}"}],"structuredContent":{"temperature":21.50,"sky":"clear"}`)), nil
}

func (x *exchange) image(arguments json.RawMessage) (body, error) {
	var a struct{ Bytes int64 }
	_ = json.Unmarshal(arguments, &a)
	return x.complete(-1, func(w *bufio.Writer) error {
		w.WriteString(`"content":[{"type":"image","mimeType":"image/png","data":"`)
		if err := blob(w, a.Bytes); err != nil {
			return err
		}
		w.WriteString(`"}]`)
		return nil
	}), nil
}

// blob writes n bytes of an image as base64.
func blob(w *bufio.Writer, n int64) error {
	enc := base64.NewEncoder(base64.StdEncoding, w)
	head := []byte("\x89PNG\r\n\x1a\n")
	if _, err := enc.Write(head); err != nil {
		return err
	}
	if _, err := io.CopyN(enc, pattern{}, max(0, n-int64(len(head)))); err != nil {
		return err
	}
	return enc.Close()
}

type pattern struct{}

// Read implements io.Reader.
func (pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i * 7)
	}
	return len(p), nil
}

func (x *exchange) bigint(json.RawMessage) (body, error) {
	return x.complete(-1, raw(`"structuredContent":{"z":9007199254740993,"a":12345678901234567890123,"tiny":1.0e-400,"zero":1.10},"content":[{"type":"text","text":"9007199254740993 <&> \u00e9"}],"x":18446744073709551615`)), nil
}

func (x *exchange) unknownFields(json.RawMessage) (body, error) {
	return x.complete(-1, raw(`"zeta":{"b":1,"a":[1, 2,  3]},"content":[{"type":"text","text":"known","extra":{"k":null}}],"alpha":true,"_future":"é"`)), nil
}

func (x *exchange) toolError(arguments json.RawMessage) (body, error) {
	var a struct{ Text string }
	_ = json.Unmarshal(arguments, &a)
	a.Text = cmp.Or(a.Text, "it failed, as asked")
	return x.failed(a.Text), nil
}

func (x *exchange) hugeError(arguments json.RawMessage) (body, error) {
	var a struct {
		Bytes    int64
		Protocol bool
	}
	_ = json.Unmarshal(arguments, &a)
	if a.Protocol {
		return nil, &Error{Code: jsonrpc.CodeInternal, Message: strings.Repeat("a stack trace at length. ", int(min(a.Bytes, 64<<20)/25)+1)}
	}
	return x.complete(-1, (&large{Bytes: a.Bytes, Kind: "lines", Mark: "error"}).body()), nil
}

func (x *exchange) big(arguments json.RawMessage) (body, error) {
	var l large
	if err := json.Unmarshal(arguments, &l); err != nil {
		return nil, badParams("Invalid arguments: %v", err)
	}
	switch l.Kind {
	case "", "json", "items", "one-item", "lines", "text", "structured", "blocks":
	default:
		return x.failed(fmt.Sprintf("kind %q: use json, items, one-item, lines, text, structured or blocks", l.Kind)), nil
	}
	x.idLast = l.IDLast
	return x.complete(-1, l.body()), nil
}

func (x *exchange) list(arguments json.RawMessage) (body, error) {
	var a struct {
		Items  int64
		Needle string
	}
	_ = json.Unmarshal(arguments, &a)
	x.s.count.reads.Add(1)
	return x.complete(-1, (&large{Items: max(a.Items, 1), Kind: "json", Needle: a.Needle}).body()), nil
}

func (x *exchange) counter(arguments json.RawMessage) (body, error) {
	var a struct{ Bytes int64 }
	_ = json.Unmarshal(arguments, &a)
	n := x.s.count.reads.Add(1)
	if a.Bytes > 0 {
		return x.complete(-1, (&large{Bytes: a.Bytes, Kind: "lines", Needle: fmt.Sprint("count-", n)}).body()), nil
	}
	return x.text(fmt.Sprint(n)), nil
}

func (x *exchange) write(json.RawMessage) (body, error) {
	return x.text(fmt.Sprint("write ", x.s.count.writes.Add(1))), nil
}

func (x *exchange) stats(json.RawMessage) (body, error) {
	b, err := json.Marshal(x.s.Stats())
	return x.text(string(b)), err
}

func (x *exchange) change(arguments json.RawMessage) (body, error) {
	var a struct{ What, URI string }
	_ = json.Unmarshal(arguments, &a)
	switch a.What {
	case "tools", "prompts", "resources", "resource":
	default:
		return x.failed(fmt.Sprintf("what %q: use tools, prompts, resources or resource (with uri)", a.What)), nil
	}
	x.s.Change(a.What, a.URI)
	return x.text("changed"), nil
}

func (x *exchange) region(arguments json.RawMessage) (body, error) {
	var a struct{ Region *string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, badParams("Invalid arguments: %v", err)
	}
	if x.modern && x.header != nil {
		got, given := decodeHeader(x.header.Get("Mcp-Param-Region")), x.header.Values("Mcp-Param-Region") != nil
		if given != (a.Region != nil) || given && got != *a.Region {
			return nil, &Error{
				Code: jsonrpc.CodeHeader, status: http.StatusBadRequest,
				Message: "Header mismatch: Mcp-Param-Region is not the argument region",
			}
		}
	}
	if a.Region == nil {
		return x.text("no region"), nil
	}
	return x.text("region " + *a.Region), nil
}
