package gateway

import (
	"fmt"
	"io"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// LargeLevel returns the level of an answer of size bytes: "warning" over [WarnBytes], "alert" over [AlertBytes], else "". Both are levels
// of MCP's logging too.
func LargeLevel(size int64) string {
	switch {
	case size > AlertBytes:
		return "alert"
	case size > WarnBytes:
		return "warning"
	}
	return ""
}

// logLevels are the levels of MCP's logging, the least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// metaLevel is the member of _meta by which a request of 2026-07-28 asks for log messages.
const metaLevel = "io.modelcontextprotocol/logLevel"

// wantsLog notes the level that the client has set with logging/setLevel.
func (s *Session) wantsLog(m transport.Message) {
	level, _ := rawjson.Text(m.Raw, "params", "level")
	if s.o.Many || !slices.Contains(logLevels, level) {
		return
	}
	s.mu.Lock()
	s.logLevel = level
	s.mu.Unlock()
}

// tellLarge sends the client a log message with the size of the server's answer, if that is large and the client asked for messages of that
// level.
func (c *call) tellLarge(size int64) {
	level := LargeLevel(size)
	if level == "" {
		return
	}
	c.s.mu.Lock()
	from := c.s.logLevel
	c.s.mu.Unlock()
	if c.p.modern() {
		from, _ = rawjson.Text(c.m.Raw, "params", "_meta", metaLevel)
	}
	if at := slices.Index(logLevels, from); at < 0 || slices.Index(logLevels, level) < at {
		return
	}
	text := fmt.Sprintf("%s answered with %s, more than %s: a filter, a smaller page or another tool costs less.",
		c.subject(), limit.Bytes(size).Human(), limit.Bytes(map[string]int64{"warning": WarnBytes, "alert": AlertBytes}[level]).Human())
	params := fmt.Appendf(nil, `{"level":%q,"logger":"plimsoll","data":`, level)
	params = append(rawjson.Quote(params, text), '}')
	c.x.Receive(&transport.Frame{Head: jsonrpc.NewRequest("", "notifications/message", params)})
}

// subject returns a description, for people, of what was called: the quoted tool, or the method with its URI or task, or the method alone.
func (c *call) subject() string {
	if c.tool != "" {
		return quoted(c.tool)
	}
	for _, key := range []string{"uri", "taskId"} {
		if of, ok := rawjson.Text(c.m.Raw, "params", key); ok && of != "" {
			return c.m.Head.Method + " of " + quoted(of)
		}
	}
	return c.m.Head.Method
}

// countedReader counts the bytes that are read through it.
type countedReader struct {
	io.Reader
	n int64
}

func (r *countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n += int64(n)
	return n, err
}
