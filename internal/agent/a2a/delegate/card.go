package delegate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	cardPath = "/.well-known/agent-card.json"
	// cardAge is the time that a card is used before it is read again, and cardTime bounds the reading of one.
	cardAge, cardTime = time.Minute, 15 * time.Second
	maxCard           = limit.MiB
	// maxSkills bounds the tools, and maxSkillText the description of one in bytes: it is part of every request of a model.
	maxSkills, maxSkillText = 64, 1200
)

// card is an agent card that was read, and a client for the agent that it describes.
type card struct {
	sum       [sha256.Size]byte
	readAt    time.Time
	client    *a2aclient.Client
	streaming bool
	about     *sdk.AgentCard
	skills    []skill
}

// skill is one tool, made of a skill in the card.
type skill struct{ name, title, description string }

// currentCard returns the agent's card. It reads the card if there is none yet, or if fresh is set and the card is older than cardAge. If
// that fails, an older card is returned without an error. Callers wait for each other.
func (a *Agent) currentCard(ctx context.Context, fresh bool) (*card, error) {
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	last := a.card
	if last != nil && (!fresh || time.Since(last.readAt) < cardAge) {
		return last, nil
	}
	now, err := a.readCard(ctx)
	switch {
	case err != nil && last == nil:
		return nil, fmt.Errorf("the agent %s: its card: %w", a.o.Name, err)
	case err != nil:
		return last, nil
	case last != nil && last.sum == now.sum:
		last.readAt = now.readAt
		return last, nil
	}
	a.card = now
	return now, nil
}

// readCard fetches the card from the agent's URL.
func (a *Agent) readCard(ctx context.Context) (*card, error) {
	ctx, cancel := context.WithTimeout(withoutSDKLog(ctx), cardTime)
	defer cancel()
	at := *a.gate.home
	if !strings.HasSuffix(at.Path, ".json") { // else it is the card's own
		at.Path = strings.TrimSuffix(at.Path, "/") + cardPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errors.New("its address cannot be asked")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set(sdk.SvcParamVersion, string(sdk.Version))
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s at %s: url is the address that has the card at %s below it", resp.Status, at.Redacted(), cardPath)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(maxCard)+1))
	if err != nil {
		return nil, err
	}
	if len(body) > int(maxCard) {
		return nil, fmt.Errorf("it is larger than %s", maxCard.Human())
	}
	return a.parse(ctx, body)
}

// parse parses a card and makes a client for the first of its addresses that speaks A2A 1.0 over JSON-RPC or REST. A card without one is an
// error.
func (a *Agent) parse(ctx context.Context, body []byte) (*card, error) {
	about := &sdk.AgentCard{}
	if err := json.Unmarshal(body, about); err != nil {
		return nil, fmt.Errorf("it is no agent card of A2A 1.0: %w", err)
	}
	var ways []*sdk.AgentInterface
	var others []string
	for _, i := range about.SupportedInterfaces {
		if i == nil {
			continue
		}
		u, err := url.Parse(i.URL)
		spoken := i.ProtocolBinding == sdk.TransportProtocolJSONRPC || i.ProtocolBinding == sdk.TransportProtocolHTTPJSON
		if version := string(i.ProtocolVersion); err != nil || u.Host == "" || u.User != nil || !spoken || version != "1" && !strings.HasPrefix(version, "1.") {
			others = append(others, limit.Short(fmt.Sprintf("%s %s", i.ProtocolBinding, i.ProtocolVersion), 64))
			continue
		}
		ways = append(ways, i)
	}
	if len(ways) == 0 {
		return nil, fmt.Errorf("it names no address for A2A 1.0 with JSON-RPC or REST (what it has: %s)", limit.Short(strings.Join(others, ", "), 300))
	}
	client, err := a2aclient.NewFactory(
		a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(a.http), a2aclient.WithRESTTransport(a.http),
	).CreateFromEndpoints(ctx, ways)
	if err != nil {
		return nil, err
	}
	return &card{
		sum: sha256.Sum256(body), readAt: time.Now(), client: client, about: about, streaming: about.Capabilities.Streaming, skills: a.skillTools(about),
	}, nil
}

// skillTools returns a tool for each skill of a card, at most maxSkills; for a card without skills one tool that asks the agent.
func (a *Agent) skillTools(about *sdk.AgentCard) []skill {
	given := about.Skills
	if len(given) == 0 {
		given = []sdk.AgentSkill{{ID: "ask", Name: about.Name, Description: about.Description}}
	}
	var out []skill
	taken := map[string]bool{}
	for _, s := range given[:min(len(given), maxSkills)] {
		name := gateway.Merged(a.o.Name, toolName(s.ID))
		if taken[name] || s.ID == "" {
			continue
		}
		taken[name] = true
		var b strings.Builder
		b.WriteString(cleanText(s.Description, maxSkillText))
		for i, example := range s.Examples[:min(len(s.Examples), 3)] {
			b.WriteString([]string{"\nExamples: ", "; ", "; "}[i] + cleanText(example, 120))
		}
		fmt.Fprintf(&b, "\nAsks the agent %s. It sees the message and not this conversation: say in it what is wanted, and all that it has to know. What you asked it before it remembers.", cleanText(about.Name, 64))
		out = append(out, skill{name: name, title: cleanText(s.Name, 128), description: strings.TrimSpace(b.String())})
	}
	return out
}

// toolName returns a name in which every character but letters, digits, "_" and "-" is "_": providers of models take no others.
func toolName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '-', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return r
		}
		return '_'
	}, name)
}

// cleanText returns a text from a card as valid UTF-8 without white space at its ends, cut to maxBytes.
func cleanText(text string, maxBytes int) string {
	return limit.Short(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), maxBytes)
}

// arguments are the arguments of a tool.
type arguments struct {
	Message string `json:"message" jsonschema:"What the agent is asked, in full"`
	Task    string `json:"task,omitempty" jsonschema:"Only to answer a question of the agent: the task that its result named"`
}

// newServer returns an MCP server, for one client, with the card's skills as its tools.
func (c *card) newServer(p *peer) (*builtin.Server, error) {
	o := builtin.Options{Name: p.a.o.Name, Title: cleanText(c.about.Name, 128), Version: cleanText(c.about.Version, 64), Journal: p.a.o.Journal, MaxCalls: maxCalls}
	if n := len(c.about.Skills); n > maxSkills {
		o.Instructions = fmt.Sprintf("The agent has %d skills; the tools are the first %d.", n, maxSkills)
	}
	for _, s := range c.skills {
		o.Tools = append(o.Tools, builtin.Typed(builtin.Tool{
			Name: s.name, Title: s.title, Description: s.description, Hints: builtin.Hints{Destructive: true, OpenWorld: true},
		}, func(ctx context.Context, call *builtin.Call, in arguments) (*builtin.Result, error) {
			return p.askAgent(withoutSDKLog(ctx), c, call, in)
		}))
	}
	return builtin.New(o)
}

// jsonOf returns a value as JSON on one line, without escapes for HTML.
func jsonOf(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
