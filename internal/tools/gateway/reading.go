package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// readTimeout bounds one read of a kept result; most of the time it waits for a page that the server has not sent yet. It is less than the
// timeout of the common clients (60 s).
const readTimeout = 45 * time.Second

// pageGrowth is the factor by which a page may exceed its sender's MaxText, so that pages that were made once stay the same.
const pageGrowth = 4

// maxHandle bounds the argument handle, in bytes.
const maxHandle = 256

// handleRead answers a call of one of the tools that read kept results, in a new goroutine. With MaxReading calls open it refuses.
func (s *Session) handleRead(ctx context.Context, m transport.Message, p params, x *exchange, n result.Names) {
	what := map[string]string{n.Page: "page", n.Search: "search", n.Query: "query"}[p.name]
	select {
	case s.reading <- struct{}{}:
	default:
		s.event(journal.ToolRefused{Server: s.o.Name, Tool: clip(p.name), Why: "busy"})
		x.reply(result.TextResult(m.Head.ID, fmt.Sprintf("%d reads of results are under way; wait for one to end and try again", MaxReading), true, p.modern()))
		return
	}
	go func() {
		defer x.recover()
		defer func() { <-s.reading }()
		started := time.Now()
		working, cancel := s.cancellable(ctx, m.Head.ID)
		defer cancel()
		working, end := context.WithTimeout(working, readTimeout)
		defer end()
		r := reader{s: s, ctx: working, m: m, p: p, names: n, cap: s.readCap(m, p)}
		r.answerOrExplain(what)
		if r.nextCall != nil { // a refresh: it goes to the server, as this request
			s.leaveToServer(m.Head.ID)
			r.nextCall(ctx, x)
			return
		}
		if errors.Is(working.Err(), context.Canceled) {
			x.Done(context.Canceled)
			return
		}
		s.event(journal.ToolRead{Server: s.o.Name, What: what, Bytes: int64(len(r.message)), Failed: r.failed, Duration: time.Since(started)})
		x.reply(r.message)
	}()
}

// readCap returns the size of the largest text that one read returns, in bytes.
func (s *Session) readCap(m transport.Message, p params) int {
	l := s.o.Settings.limitsOf("")
	switch {
	case l.Cap > 0:
		return int(l.Cap)
	case l.Cap < 0:
		return int(limit.MiB)
	case m.MaxText > 0:
		return int(m.MaxText)
	}
	return int(s.profile(p).Cap)
}

// reader is one read of a kept result.
type reader struct {
	s     *Session
	ctx   context.Context
	m     transport.Message
	p     params
	names result.Names
	cap   int

	message  []byte
	failed   bool
	nextCall func(context.Context, *exchange) // set by refresh instead of message
}

// answerOrExplain sets r.message to the answer to a call of the tool for what ("page", "search" or "query"), or to its error as text.
func (r *reader) answerOrExplain(what string) {
	err := r.answer(what)
	if err == nil {
		return
	}
	r.failed = true
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = "what was asked for has not come within " + readTimeout.String() + ": the server is still sending, or there is too much to look at; try again, or ask for an earlier page"
	}
	r.message = result.TextResult(r.m.Head.ID, cutText(text, r.cap), true, r.p.modern())
}

// answer is answerOrExplain that returns an error to its caller. The handle must be that of a result of the principal.
func (r *reader) answer(what string) error {
	args, err := readArguments(asObject(r.p.arguments.Of(r.m.Raw)), "handle", "page", "page_size", "offset", "refresh", "pattern", "case_sensitive", "query")
	if err != nil {
		return err
	}
	handle, err := args.text("handle", true)
	if err != nil {
		return argumentErrorf("%s; it is named in the notice at the end of a large result", err)
	}
	if len(handle) > maxHandle {
		return &spool.NotFound{}
	}
	kept, err := r.s.o.Spool.Read(r.m.Principal, handle)
	if err != nil {
		return err
	}
	defer kept.Close()
	switch what {
	case "search":
		return r.answerSearch(kept, handle, args)
	case "query":
		return r.answerQuery(kept, args)
	}
	return r.answerPage(kept, handle, args)
}

// answerPage answers result_page: with a page, with a range of bytes if offset is given, or by repeating the call if refresh is true.
func (r *reader) answerPage(kept *spool.Result, handle string, args arguments) error {
	refresh, err := args.flag("refresh")
	if err != nil {
		return err
	}
	if refresh {
		return r.refresh(kept)
	}
	if _, ok := args.values["offset"]; ok {
		offset, err := args.number("offset", 0)
		if err != nil {
			return err
		}
		return r.answerBytes(kept, handle, offset)
	}
	number, err := args.number("page", 1)
	if err != nil {
		return err
	}
	size, err := args.number("page_size", 0)
	if err != nil {
		return err
	}
	if size < 0 {
		return argumentErrorf("page_size is %d; it is at least 1", size)
	}
	v, err := r.viewPage(kept, handle, number, size)
	if err != nil {
		return err
	}
	r.message = result.PageResult(r.m.Head.ID, v, r.p.modern())
	return nil
}

// viewPage reads a page that fits the client. If the result was paged for a client that takes more, a page has fewer items, unless size (0 for
// the default) says how many; a text that is still too long is cut.
func (r *reader) viewPage(kept *spool.Result, handle string, number, size int64) (result.View, error) {
	t := kept.Totals()
	if number < 1 || number > 1<<31 {
		return result.View{}, r.noPageError(t, number)
	}
	if r.m.MaxText > 0 {
		// The room of such a client shrinks while it reads, and pages that shrank with it would be counted anew each time.
		r.cap = max(r.cap, min(t.PageBytes, pageGrowth*r.cap))
	}
	if t.PageBytes > r.cap && size == 0 && t.PageItems > 0 {
		size = max(1, int64(t.PageItems)*int64(r.cap)/int64(t.PageBytes))
	}
	page, err := kept.Page(r.ctx, int(number), int(min(size, spool.MaxPageLines)))
	if err != nil {
		return result.View{}, err
	}
	if len(page.Text) > r.cap && t.PageBytes > r.cap {
		page.Text = []byte(cutText(string(page.Text), r.cap))
		page.JSON = false
	}
	return result.View{Handle: handle, Page: page, Totals: kept.Totals(), Names: r.names}, nil
}

// noPageError returns the error for a page number that is out of range; it names the pages that there are.
func (r *reader) noPageError(t spool.Totals, number int64) error {
	if !t.Complete {
		return argumentErrorf("there is no page %d; pages are counted from 1", number)
	}
	return argumentErrorf("there is no page %d: the result has pages 1 to %d (%d %s)", number, max(1, t.Pages), t.Items, t.Shape.Noun())
}

// answerBytes answers with the stored bytes from offset on, as many as the client takes, regardless of items.
func (r *reader) answerBytes(kept *spool.Result, handle string, offset int64) error {
	piece, err := kept.Range(r.ctx, offset, int64(r.cap))
	if err != nil {
		return err
	}
	note := fmt.Sprintf("[plimsoll] Bytes %d to %d of %d", piece.From, piece.To, piece.Total)
	if !piece.Complete {
		note += " so far"
	}
	if piece.To < piece.Total || !piece.Complete {
		note += fmt.Sprintf(". What follows: %s {\"handle\":%s,\"offset\":%d}", r.names.Page, rawjson.Quote(nil, handle), piece.To)
	}
	r.message = textBlocks(r.m.Head.ID, r.p.modern(), string(piece.Text), note+".")
	return nil
}

// refresh sets r.nextCall to a function that makes the stored call again. It is an error for a tool without readOnlyHint: a call that may write
// is for the model to make.
func (r *reader) refresh(kept *spool.Result) error {
	src := kept.Source()
	through, name := r.s.o.through, ""
	if through != nil {
		name, _ = through(src.Server, src.Tool)
	}
	if src.Server != r.s.o.Name && name == "" {
		return argumentErrorf("refresh is not possible for this result: it is of the server %s; call the tool %s again", src.Server, src.Tool)
	}
	if !src.ReadOnly || len(src.Call) == 0 {
		return argumentErrorf("refresh is only possible for tools that say they change nothing (readOnlyHint); to run %s again, call it yourself", src.Tool)
	}
	params, err := rawjson.Remove(src.Call, "_meta")
	if err == nil && name != "" {
		params, err = rawjson.Set(params, "name", rawjson.Quote(nil, name))
	}
	if err == nil && !r.p.meta.IsZero() {
		params, err = rawjson.Set(params, "_meta", r.p.meta.Of(r.m.Raw))
	}
	if err != nil {
		return fmt.Errorf("the stored call cannot be read: call the tool again")
	}
	m := r.m
	m.Header = headerFor(m.Header, "tools/call", src.Tool)
	if m, err = withParams(m, r.m.Head.ID, "tools/call", params); err != nil {
		return fmt.Errorf("the stored call cannot be read: call the tool again")
	}
	r.nextCall = func(ctx context.Context, x *exchange) {
		s, p := r.s, parseParams(m)
		c := &call{method: result.CallTool, tool: p.name, limits: s.o.Settings.limitsOf(p.name)}
		ctx = context.WithValue(ctx, refreshing{}, true)
		if name != "" {
			s.o.Next.Send(ctx, m, s.watchedReceiver(ctx, m, x))
			return
		}
		if !s.o.Settings.allows(p.name) {
			s.refuse(x, p.name, "denied", fmt.Sprintf("Unknown tool: %s is not allowed here.", quoteName(p.name)))
			return
		}
		s.callAllowed(ctx, m, p, x, c)
	}
	return nil
}

// cutText cuts a text of the gateway's own to maxBytes, with a mark in place of what is left out.
func cutText(text string, maxBytes int) string {
	return limit.Cut(text, maxBytes, func(n int) string { return fmt.Sprintf("\n[plimsoll: %d bytes are left out here]\n", n) })
}

// textBlocks returns a tool's result with each of the texts as a block. There must be at least one.
func textBlocks(id jsonrpc.ID, modern bool, texts ...string) []byte {
	message := result.TextResult(id, texts[0], false, modern)
	for _, text := range texts[1:] {
		message = withNote(message, text)
	}
	return message
}

// withNote adds a text block to a result that the gateway has made.
func withNote(message []byte, text string) []byte {
	content := rawjson.Get(message, "result", "content")
	block := append([]byte(`,{"type":"text","text":`), rawjson.Quote(nil, text)...)
	at := content.End - 1
	out, err := rawjson.Splice(message, []rawjson.Edit{{Span: rawjson.Span{Start: at, End: at}, With: append(block, '}')}})
	if err != nil {
		return message
	}
	return out
}

// MaxDescription is the most bytes that the description of an added tool may have: every request to the model has it, once for each server.
const MaxDescription = 400

// namesFor returns names for the added tools that no tool of the server has: with as many prefixes as are needed, at most 8.
func namesFor(owned func(string) bool) result.Names {
	prefix := ""
	for range 8 { // gateways behind gateways; nobody has more
		n := result.Names{Page: prefix + "result_page", Search: prefix + "result_search", Query: prefix + "result_query"}
		if !owned(n.Page) && !owned(n.Search) && !owned(n.Query) {
			return n
		}
		prefix += "plimsoll_"
	}
	return result.Names{Page: prefix + "result_page", Search: prefix + "result_search", Query: prefix + "result_query"}
}

// describePage returns the description of the tool that reads pages. A model chooses by the descriptions, so each states the tool's
// purpose, when another one is better and where the handle comes from, and has one example.
func describePage(n result.Names) string {
	return fmt.Sprintf("Read one more page of a large tool result that was cut into pages. handle comes from that result's notice. "+
		"To find something use %s first: it looks at all pages at once. "+
		"Example: {\"handle\":\"r_…\",\"page\":2}. offset reads the bytes of an omitted item; refresh calls the tool anew.", n.Search)
}

func describeSearch(n result.Names) string {
	return fmt.Sprintf("Search all pages of a large tool result by regular expression; use this before reading pages with %s. "+
		"handle comes from the result's notice. Returns whole items or lines with their numbers. "+
		"More than 1000 matches are an error: narrow the pattern. "+
		"Example: {\"handle\":\"r_…\",\"pattern\":\"(failed|error).*timeout\"}.", n.Page)
}

func describeQuery(n result.Names) string {
	return fmt.Sprintf("Filter, count or reshape a large JSON tool result with a jq program instead of reading its pages. "+
		"handle comes from the result's notice; for plain text use %s. "+
		"Example: {\"handle\":\"r_…\",\"query\":\".items[] | select(.status!=\\\"ok\\\") | .name\"}.", n.Search)
}

const (
	handleSchema = `"handle":{"type":"string","description":"From the notice of the large result"}`
	readOnlyHint = `"annotations":{"readOnlyHint":true,"openWorldHint":false}`
)

// addedTools returns the raw definitions of the tools that read kept results, in the order of the list.
func addedTools(n result.Names) [][]byte {
	tool := func(name, title, description, properties, required string) []byte {
		return definition(name, title, description, handleSchema+","+properties, required, readOnlyHint)
	}
	return [][]byte{
		tool(n.Page, "Page of a large result", describePage(n),
			`"page":{"type":"integer","minimum":1,"default":1},`+
				`"page_size":{"type":"integer","minimum":1,"maximum":1000,"description":"Items (20, at most 100) or lines (100, at most 1000) on a page"},`+
				`"offset":{"type":"integer","minimum":0,"description":"Read from this byte on instead of a page"},`+
				`"refresh":{"type":"boolean","description":"Call the tool again with the same arguments; only for tools that change nothing"}`,
			`"handle"`),
		tool(n.Search, "Search in a large result", describeSearch(n),
			`"pattern":{"type":"string","description":"Regular expression (RE2)"},`+
				`"case_sensitive":{"type":"boolean","default":false},`+
				`"page":{"type":"integer","minimum":1,"default":1}`,
			`"handle","pattern"`),
		tool(n.Query, "Query a large result", describeQuery(n),
			`"query":{"type":"string","description":"jq program; it sees the whole result"}`,
			`"handle","query"`),
	}
}
