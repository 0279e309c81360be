package result

import (
	"bytes"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// PageResult makes the response to a tools/call that read a page of a kept result: the
// page, the notice, and the same in _meta.
func PageResult(id jsonrpc.ID, v View, modern bool) []byte {
	return pageResult(id, v, modern, nil)
}

// ToolPage makes the response to a call of the tool itself, answered with a page of a kept result. ok is false when no
// structuredContent can be made of the page that the tool's contract allows; k may be nil.
func ToolPage(id jsonrpc.ID, v View, modern bool, k *Contract) (message []byte, ok bool) {
	if k == nil {
		return PageResult(id, v, modern), true
	}
	part := k.page(&v)
	return pageResult(id, v, modern, part), part != nil
}

// Said makes of a response with texts one whose structuredContent says them.
func Said(message []byte) []byte {
	var text []byte
	if at := rawjson.Get(message, "result", "content"); !at.IsZero() {
		for block, err := range rawjson.Elements(message, at.Start) {
			if err != nil {
				break
			}
			part, _ := rawjson.Text(block.Of(message), "text")
			text = append(append(text, part...), '\n')
		}
	}
	b := append([]byte(`{"result":{"structuredContent":`), Stub(string(text), nil)...)
	return append(b, "}}"...)
}

func pageResult(id jsonrpc.ID, v View, modern bool, structured []byte) []byte {
	b := begin(modern)
	b = appendText(b, v.Page.Text)
	b = appendText(append(b, ','), v.Notice())
	b = append(b, ']')
	if structured != nil {
		b = append(append(b, `,"structuredContent":`...), structured...)
	}
	b = append(b, `,"_meta":{`...)
	b = append(rawjson.Quote(b, MetaKey), ':')
	b = append(append(b, v.meta()...), "}}"...)
	return jsonrpc.ResultResponse(id, b)
}

// TextResult makes the response to a tools/call of one text.
func TextResult(id jsonrpc.ID, text string, isError, modern bool) []byte {
	b := appendText(begin(modern), text)
	b = append(b, ']')
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return jsonrpc.ResultResponse(id, append(b, '}'))
}

func begin(modern bool) []byte {
	b := []byte{'{'}
	if modern {
		b = append(b, `"resultType":"complete",`...)
	}
	return append(b, `"content":[`...)
}
