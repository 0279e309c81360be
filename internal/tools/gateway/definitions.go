package gateway

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Definitions limits how much of a client's window the definitions of tools may take. The zero value counts and limits nothing.
type Definitions struct {
	// Max is the bound of a list in tokens; 0 is none. With a bound the three functions below must be set.
	Max int
	// Count counts the tokens of a text.
	Count func(text []byte) int
	// Index builds a search index of texts: find returns the indexes of at most limit texts that fit a query, the best first.
	Index func(texts []string) (find func(query string, limit int) []int)
	// Used calls each with the number of calls so far of every tool, by the server's name and the tool's name on that server.
	Used func(each func(server, tool string, calls int64))
}

// maxFound is the most tools that one search answers with.
const maxFound = 5

// shortlist holds the tools that a session lists in full. Once it leaves tools out it no longer changes: a model's prompt begins with its
// tools, and a provider reads again only what follows an unchanged beginning.
type shortlist struct {
	mu    sync.Mutex
	whole map[string]bool // nil before the first list
	added [][]byte        // the definitions of tool_search and tool_call; nil while all tools are listed
}

// shortens reports whether a client's list contains only part of the tools in full: there is a bound, and the client loads none on demand.
func (s *Session) shortens(p params) bool {
	return s.o.Definitions.Max > 0 && !s.o.Bare && !s.profile(p).Defers
}

// chooseFull decides which tools are listed in full. It returns their names, and the definitions to add for finding the others; added is
// nil if all tools fit. Once tools were left out, the session keeps that decision, whatever the list becomes. others are the definitions
// that are listed in any case.
func (s *Session) chooseFull(k *toolList, others [][]byte) (whole map[string]bool, added [][]byte) {
	s.short.mu.Lock()
	defer s.short.mu.Unlock()
	d := &s.o.Definitions
	room := d.Max
	for _, raw := range others {
		room -= d.Count(raw)
	}
	if s.short.added != nil {
		return s.short.whole, s.short.added
	}
	sizes, sum := make([]int, len(k.tools)), 0
	for i, t := range k.tools {
		sizes[i] = d.Count(t.raw) + 1
		sum += sizes[i]
	}
	first := s.short.whole == nil
	if sum <= room {
		s.short.whole = make(map[string]bool, len(k.tools))
		for _, t := range k.tools {
			s.short.whole[t.name] = true
		}
		return nil, nil
	}
	if first {
		room -= d.Max / 4 // for the names of the others, and the two tools
		s.short.whole = map[string]bool{}
		for _, i := range s.orderByUse(k.tools, sizes) {
			if sizes[i] <= room {
				room -= sizes[i]
				s.short.whole[k.tools[i].name] = true
			}
		}
	}
	deferred := slices.DeleteFunc(slices.Clone(k.tools), func(t listed) bool { return s.short.whole[t.name] })
	s.short.added = s.finderTools(k.finder, deferred, d.Max/4)
	return s.short.whole, s.short.added
}

// orderByUse returns the indices of the tools in the order in which they get room in the list: those called most first, and among equally
// often called ones the shortest first, so that many fit.
func (s *Session) orderByUse(tools []listed, sizes []int) []int {
	uses := map[string]int64{}
	s.o.Definitions.Used(func(server, tool string, calls int64) {
		if s.o.through != nil {
			if name, ok := s.o.through(server, tool); ok {
				uses[name] += calls
			}
		} else if server == s.o.Name {
			uses[tool] += calls
		}
	})
	order := make([]int, len(tools))
	for i := range order {
		order[i] = i
	}
	sorting.StableBy(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(uses[tools[b].name], uses[tools[a].name]), cmp.Compare(sizes[a], sizes[b]))
	})
	return order
}

// finderNames are the names of tool_search and tool_call, by which tools that are not listed are found and called.
type finderNames struct{ search, call string }

// finderNamesFor returns names for the two tools of the finder that no tool of the server has: with as many prefixes as are needed, at most 8.
func finderNamesFor(owned func(string) bool) finderNames {
	n := finderNames{"tool_search", "tool_call"}
	for range 8 {
		if !owned(n.search) && !owned(n.call) {
			break
		}
		n.search, n.call = "plimsoll_"+n.search, "plimsoll_"+n.call
	}
	return n
}

// isFinder reports whether a name may be tool_search or tool_call, with any prefix.
func isFinder(name string) bool {
	return strings.HasSuffix(name, "tool_search") || strings.HasSuffix(name, "tool_call")
}

// finderTools returns the definitions of tool_search and tool_call. The description of the first says for each server how many tools are not
// listed, and names as many of them as fit into about room tokens, taken from each server in turn.
func (s *Session) finderTools(n finderNames, deferred []listed, room int) [][]byte {
	type group struct {
		name  string
		tools []string
		shown int
	}
	var groups []*group
	for _, t := range deferred {
		server, name := s.o.Name, t.name
		if before, after, ok := strings.Cut(t.name, Separator); ok && s.o.through != nil {
			server, name = before, after
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.name == server })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{name: server})
		}
		groups[i].tools = append(groups[i].tools, name)
	}
	define := func() [][]byte {
		var b strings.Builder
		fmt.Fprintf(&b, "Find one of %d tools that are not listed here, by what it is to do. Answers with the full definitions of the up to %d that fit best. "+
			"Call what was found by its name, or with %s. Example: {\"query\":\"close a pull request\"}. Not listed", len(deferred), maxFound, n.call)
		if s.o.through != nil {
			b.WriteString(" (their names are SERVER" + Separator + "NAME)")
		}
		b.WriteByte(':')
		for i, g := range groups {
			if i == maxGroups {
				fmt.Fprintf(&b, " and of %d more servers", len(groups)-i)
				break
			}
			fmt.Fprintf(&b, " %s (%d)", limit.Clip(g.name, MaxName), len(g.tools))
			for j, name := range g.tools[:g.shown] {
				b.WriteString([]string{": ", ", "}[min(j, 1)] + name)
			}
			if 0 < g.shown && g.shown < len(g.tools) {
				b.WriteString(", …")
			}
			b.WriteByte(';')
		}
		return [][]byte{
			definition(n.search, "Find a tool", strings.TrimSuffix(b.String(), ";")+".", `"query":{"type":"string","description":"What the tool is to do, in a few words, or its name"},`+
				fmt.Sprintf(`"max":{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxFound, maxFound), `"query"`, readOnlyHint),
			definition(n.call, "Call a tool", fmt.Sprintf("Call a tool that %s found, where its own name cannot be called. Example: {\"name\":\"NAME\",\"arguments\":{}}.", n.search),
				`"name":{"type":"string"},"arguments":{"type":"object","description":"As the tool's inputSchema has them"}`, `"name"`, `"annotations":{"openWorldHint":true}`),
		}
	}
	for _, raw := range define() {
		room -= s.o.Definitions.Count(raw)
	}
	for row := 0; room > 0; row++ {
		any := false
		for _, g := range groups[:min(len(groups), maxGroups)] {
			if g.shown < row || row >= len(g.tools) {
				continue
			}
			any = true
			if cost := s.o.Definitions.Count([]byte(g.tools[row])) + 2; cost <= room {
				room -= cost
				g.shown++
			}
		}
		if !any {
			break
		}
	}
	return define()
}

// maxGroups bounds the servers that the description of tool_search names.
const maxGroups = 64

// handleFinder answers a call of tool_search, and makes the call that a call of tool_call asks for, in a new goroutine. If the server itself has
// a tool of that name, the call is passed on like any other.
func (s *Session) handleFinder(ctx context.Context, m transport.Message, p params, x *exchange) {
	m = cloneMessage(m)
	go func() {
		defer x.recover()
		started := time.Now()
		waiting, cancel := s.cancellable(ctx, m.Head.ID)
		defer cancel()
		k := s.knownTools(waiting, m, p)
		if waiting.Err() != nil {
			x.Done(waiting.Err())
			return
		}
		switch {
		case k == nil || p.name != k.finder.search && p.name != k.finder.call:
			s.leaveToServer(m.Head.ID)
			s.callNamed(ctx, m, p, x)
		case p.name == k.finder.call:
			s.leaveToServer(m.Head.ID)
			out, err := unwrapCall(m, p)
			if name := parseParams(out).name; err == nil && (name == k.finder.search || name == k.finder.call) {
				err = argumentErrorf("%s calls the tools that %s finds; call %s itself by its name", k.finder.call, k.finder.search, quoteName(name))
			}
			if err != nil {
				x.reply(result.TextResult(m.Head.ID, err.Error(), true, p.modern()))
				return
			}
			s.callTool(ctx, out, parseParams(out), x)
		default:
			text, err := s.searchTools(k, m, p)
			if err != nil {
				text = err.Error()
			}
			s.event(journal.ToolRead{Server: s.o.Name, What: "tools", Bytes: int64(len(text)), Failed: err != nil, Duration: time.Since(started)})
			x.reply(result.TextResult(m.Head.ID, text, err != nil, p.modern()))
		}
	}()
}

// unwrapCall turns m, a call of tool_call, into a tools/call of the tool that its arguments name, with the arguments for that tool ({} if there
// are none). If the arguments have another form, the error is for the caller.
func unwrapCall(m transport.Message, p params) (transport.Message, error) {
	args, err := readArguments(asObject(p.arguments.Of(m.Raw)), "name", "arguments")
	if err != nil {
		return m, err
	}
	name, err := args.text("name", true)
	if err != nil {
		return m, argumentErrorf("%s; it is the name of a tool", err)
	}
	arguments := asObject(args.values["arguments"])
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	params, err := rawjson.Set(m.Head.Params.Of(m.Raw), "name", rawjson.Quote(nil, name))
	if err == nil {
		params, err = rawjson.Set(params, "arguments", arguments)
	}
	if err != nil {
		return m, err
	}
	m.Header = headerFor(m.Header, m.Head.Method, name)
	return withParams(m, m.Head.ID, m.Head.Method, params)
}

// asObject returns the JSON object in raw, also if it is written as a JSON string, as some models do.
func asObject(raw []byte) []byte {
	if len(raw) > 0 && raw[0] == '"' {
		return rawjson.Unquote(nil, raw)
	}
	return raw
}

// searchTools returns the definitions of the tools that fit a query best, the best first, within the client's bound of a result.
func (s *Session) searchTools(k *toolList, m transport.Message, p params) (string, error) {
	args, err := readArguments(asObject(p.arguments.Of(m.Raw)), "query", "max")
	if err != nil {
		return "", err
	}
	query, err := args.text("query", true)
	if err != nil {
		return "", argumentErrorf("%s; say in a few words what the tool is to do", err)
	}
	most, err := args.number("max", maxFound)
	if err != nil {
		return "", err
	}
	hits := k.search(&s.o.Definitions, query, int(max(1, min(most, maxFound))))
	var b strings.Builder
	room := s.readCap(m, p) - 512
	for i, hit := range hits {
		raw := k.tools[hit].raw
		if short, err := rawjson.Remove(raw, "outputSchema", "icons", "_meta"); err == nil {
			raw = short
		}
		switch {
		case len(raw) < room-b.Len():
			b.Write(raw)
		case i == 0:
			b.WriteString(limit.Cut(string(raw), max(room, leastMatch), cutMark))
		default:
			fmt.Fprintf(&b, `{"name":%s} (there was no room for its definition: search for this name)`, rawjson.Quote(nil, k.tools[hit].name))
		}
		b.WriteByte('\n')
	}
	if len(hits) == 0 {
		fmt.Fprintf(&b, "[plimsoll] None of %d tools fits. Use other words, such as what it works on and what it does.", len(k.tools))
	} else {
		fmt.Fprintf(&b, "[plimsoll] %d of %d tools, the best first. Call one by its name; where that cannot be done: %s {\"name\":%s,\"arguments\":{…}}.",
			len(hits), len(k.tools), k.finder.call, rawjson.Quote(nil, k.tools[hits[0]].name))
	}
	return b.String(), nil
}

// search returns the indices of at most maxHits tools that fit a query, the best first; a tool whose name is the query, in upper or lower
// case, comes before all. The first call makes the index.
func (k *toolList) search(d *Definitions, query string, maxHits int) []int {
	k.mu.Lock()
	if k.find == nil {
		texts := make([]string, len(k.tools))
		for i, t := range k.tools {
			texts[i] = searchText(t)
		}
		find := d.Index(texts)
		var one sync.Mutex // an index is for one at a time
		k.find = func(query string, limit int) []int {
			one.Lock()
			defer one.Unlock()
			return find(query, limit)
		}
	}
	find := k.find
	k.mu.Unlock()
	query = limit.Clip(strings.TrimSpace(query), maxQuery)
	hits := find(queryText(query), maxHits)
	if i := slices.IndexFunc(k.tools, func(t listed) bool { return strings.EqualFold(t.name, query) }); i >= 0 {
		hits = append([]int{i}, slices.DeleteFunc(hits, func(h int) bool { return h == i })...)
	}
	return hits[:min(len(hits), maxHits)]
}

// maxQuery bounds what is looked at of a query, in bytes.
const maxQuery = 1 << 10

// permittedTools returns the tools of a list that the client may use, in the form that the client gets (unedited if plain is set), in memory of
// their own. At most MaxListTools are returned.
func permittedTools(tools []listed, s *Settings, plain bool) []listed {
	var out []listed
	for _, t := range tools {
		if t.name == "" || s.forbids(t) || len(out) == MaxListTools {
			continue
		}
		raw := t.raw
		if !plain {
			raw = editTool(t, s)
		}
		out = append(out, listed{strings.Clone(t.name), bytes.Clone(raw)})
	}
	return out
}

// definition returns a tool's definition as JSON. properties, required and annotations are raw JSON.
func definition(name, title, description, properties, required, annotations string) []byte {
	b := append([]byte(`{"name":`), rawjson.Quote(nil, name)...)
	b = append(append(b, `,"title":`...), rawjson.Quote(nil, title)...)
	b = append(append(b, `,"description":`...), rawjson.Quote(nil, description)...)
	return fmt.Appendf(b, `,"inputSchema":{"type":"object","properties":{%s},"required":[%s]},%s}`, properties, required, annotations)
}
