package result

import (
	"bytes"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// PageResult returns the response to a tools/call that read a page of a kept result: the page, the notice, and the description of the page
// in _meta. modern is Options.Modern.
func PageResult(id jsonrpc.ID, v View, modern bool) []byte {
	b := begin(modern)
	b = appendText(b, v.Page.Text)
	b = appendText(append(b, ','), v.Notice())
	b = append(b, ']')
	b = append(b, `,"_meta":{`...)
	b = append(rawjson.Quote(b, MetaKey), ':')
	b = append(append(b, v.meta()...), "}}"...)
	return jsonrpc.ResultResponse(id, b)
}

// TextResult returns the response to a tools/call with one block of text. modern is Options.Modern.
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
