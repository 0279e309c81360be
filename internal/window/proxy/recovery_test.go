package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Every form in which a provider says "too long" is recovered from, in every dialect that
// has it, streaming and not, whether or not it names its limit.
func TestEveryRefusalIsRecoveredFrom(t *testing.T) {
	for _, d := range everyDialect {
		for _, form := range scripted.FormsOf(d) {
			for _, stream := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%s/%v", d, form, stream), func(t *testing.T) {
					const window = 9000
					provider, _, root, j := scripting(t, scripted.Options{Window: window, Form: form}, Options{Target: 0.5, Store: memoryStore(t)})
					k := talkIn(d)
					k.stream = stream
					if form == "silent" {
						k.model = "llama-3.1-8b" // who serves the others refuses
					}
					res, text := k.ask(t, root, 40)
					if res.StatusCode != http.StatusOK {
						t.Fatalf("%s %.300s", res.Status, text)
					}
					list := asked(provider)
					final := list[len(list)-1]
					if form == "silent" {
						if learned := events[journal.WindowOverflow](j); len(learned) != 1 || learned[0].Action != "learned" {
							t.Errorf("the journal has %+v", learned)
						}
						return
					}
					if !bytes.Contains(final.Body, []byte(task)) || !bytes.Contains(final.Body, fmt.Appendf(nil, newest, 40)) {
						t.Error("the task or the newest word of the user is gone")
					}
					if final.Input < window/4 {
						t.Errorf("%d tokens are sent of %d: less than a quarter", final.Input, window)
					}
					over := events[journal.WindowOverflow](j)
					if len(over) < 2 || over[0].Action != "retried" || over[len(over)-1].Action != "recovered" || len(list) != len(over) {
						t.Errorf("%d requests, and the journal has %+v", len(list), over)
					}
					if strings.Contains(text, "context_length_exceeded") || strings.Contains(text, "too long") {
						t.Errorf("the refusal went down: %.300s", text)
					}
					// The next turn is not refused again where the limit was named, and sends the same bytes.
					before := len(list)
					if res, text := k.ask(t, root, 41); res.StatusCode != http.StatusOK {
						t.Fatalf("the next turn: %s %.300s", res.Status, text)
					}
					if list = asked(provider); over[0].LimitTokens > 0 && len(list) != before+1 {
						t.Errorf("the next turn took %d requests", len(list)-before)
					}
				})
			}
		}
	}
}

func TestRefusalGoesDownWhenNothingHelps(t *testing.T) {
	for form, tries := range map[string]int{"anthropic": 2, "anthropic.413": 1 + maxTries} {
		// The system prompt alone is over the window, and what is sacred is not cut.
		provider, _, root, j := scripting(t, scripted.Options{Window: 3000, Form: form}, Options{Store: memoryStore(t), Resolver: models.NewResolver(models.Options{})})
		k := talkIn(wire.Messages)
		body := bytes.Replace(k.body(60), []byte("You are an agent."), []byte(strings.Repeat("You are an agent that never gives up. ", 700)), 1)
		res, text := post(t, root+k.path(), string(body))
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusRequestEntityTooLarge || !json.Valid([]byte(text)) {
			t.Errorf("%s: %s %.300s, want the provider's own refusal", form, res.Status, text)
		}
		if n := len(asked(provider)); n > tries {
			t.Errorf("%s: %d requests, want at most %d", form, n, tries)
		}
		over := events[journal.WindowOverflow](j)
		if len(over) == 0 || over[len(over)-1].Action != "given_up" {
			t.Errorf("%s: the journal has %+v", form, over)
		}
	}
}

// What the provider refuses in a message that an answer follows is mended once it has refused it: the conversation is new here and nobody
// knows what was sent before. It is mended once, and the turns after it are not refused again.
func TestContentBeforeAnAnswerIsMendedWhenRefused(t *testing.T) {
	const pdf = `{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`
	for refused, messages := range map[string]string{
		`{"type":"text","text":""}`:    `{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_use","id":"t1","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}`,
		`{"role":"user","content":""}`: `{"role":"assistant","content":"b"},{"role":"user","content":""}`,
		pdf:                            `{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"look"},` + pdf + `]}`,
	} {
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
			asked, refusals := 0, 0
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				asked++
				if bytes.Contains(body, []byte(refused)) {
					refusals++
					w.WriteHeader(status)
					fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: no provider takes that"}}`)
					return
				}
				fmt.Fprint(w, `{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"d"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`)
			}))
			_, root, _ := start(t, upstream.URL, Options{Store: memoryStore(t)})
			history := `{"role":"user","content":"a"},` + messages + `,{"role":"assistant","content":"c"},{"role":"user","content":"d"}`
			for turn := range 3 {
				res, text := post(t, root+"/anthropic/v1/messages", `{"model":"claude-opus-4-8","max_tokens":1000,"messages":[`+history+`]}`)
				if res.StatusCode != http.StatusOK || asked != turn+2 || refusals != 1 {
					t.Fatalf("%s, turn %d: %s %s; %d requests, %d were refused", refused, turn, res.Status, text, asked, refusals)
				}
				history += `,{"role":"assistant","content":[{"type":"text","text":"d"}]},{"role":"user","content":"go on"}`
			}
			upstream.Close()
		}
	}
}

func TestOthersErrorsAreNotRetried(t *testing.T) {
	for _, fault := range []scripted.Fault{{Kind: scripted.RateLimit}, {Kind: scripted.ServerErr}, {Kind: scripted.HTML}, {Kind: scripted.Garbage}, {Kind: scripted.HugeEvent}, {Kind: scripted.Gzip}, {Kind: scripted.Drip, Bytes: 7}} {
		for _, d := range everyDialect {
			provider, _, root, _ := scripting(t, scripted.Options{Fault: scripted.FaultAt(0, fault)}, Options{})
			res, text := talkIn(d).ask(t, root, 1)
			if n := len(asked(provider)); n != 1 {
				t.Errorf("%v, %v: %d requests, want 1 (%s %.200s)", d, fault.Kind, n, res.Status, text)
			}
		}
	}
}

// A stop reason that comes after content cannot be undone; the next request is smaller.
func TestOverflowAfterContentTeaches(t *testing.T) {
	script := func(int, *scripted.Request) scripted.Reply {
		return scripted.Reply{Text: "Some words.", Stop: "model_context_window_exceeded", Output: 10}
	}
	provider, p, root, j := scripting(t, scripted.Options{Script: script, Side: script}, Options{Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	res, text := k.ask(t, root, 10)
	if res.StatusCode != http.StatusOK || !strings.Contains(text, "Some words.") {
		t.Fatalf("%s %s", res.Status, text)
	}
	over := events[journal.WindowOverflow](j)
	if len(over) != 1 || over[0].Action != "learned" || over[0].LimitTokens == 0 {
		t.Errorf("the journal has %+v", over)
	}
	if len(asked(provider)) != 1 {
		t.Errorf("%d requests, want 1", len(asked(provider)))
	}
	if w := p.o.Resolver.Window(string(Anthropic)+"+"+p.upstreams["anthropic"].base.String(), k.model, nil); w.Source != models.SourceLearned {
		t.Errorf("the window is %+v", w)
	}
}

func TestRepeatedRefusalsTripTheBreaker(t *testing.T) {
	_, _, root, j := scripting(t, scripted.Options{Window: 9000, Form: "groq"}, Options{Store: memoryStore(t)})
	k := talkIn(wire.Chat)
	for i := range 4 {
		k.model = "gpt-4o"
		k.size = 3000 + i // another conversation each
		k.ask(t, root, 60)
	}
	tripped := events[journal.WindowBreaker](j)
	if len(tripped) == 0 || tripped[0].State != "tripped" || tripped[0].Upstream != "openai" || tripped[0].LimitTokens == 0 {
		t.Errorf("the journal has %+v", tripped)
	}
}

// A gateway whose usage leaves out what was read from a cache has not cut anything: believing
// it would cut the conversation down to what was new in one turn.
func TestUsageWithoutTheCacheIsNoWindow(t *testing.T) {
	upstream, _ := rawUpstream(t, answerOf(`{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":3000,"output_tokens":5}}`))
	_, root, j := start(t, upstream, Options{Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	for turns := 10; turns < 14; turns++ {
		if res, text := k.ask(t, root, turns); res.StatusCode != http.StatusOK || res.Header.Get(LimitHeader) != "200000" || res.Header.Get(ActionsHeader) != "" {
			t.Fatalf("%s, limit %s, done %q: %.200s", res.Status, res.Header.Get(LimitHeader), res.Header.Get(ActionsHeader), text)
		}
	}
	if over := events[journal.WindowOverflow](j); len(over) > 0 {
		t.Errorf("%+v", over)
	}
}

// answerOf is a whole answer of an upstream that closes the connection after it, and says so: else the next
// request may be sent on a connection that is just ending.
func answerOf(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
}
