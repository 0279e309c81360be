package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Script gives the answer to one turn. Turns count from 0; a turn comes again when its
// answer did not get through. It may be called from several goroutines.
type Script func(turn int, r *Request) Reply

// A Reply is one answer of the model: thinking, text and calls, in this order.
type Reply struct {
	Thinking string
	// Redacted is the number of blocks of redacted_thinking behind the thinking (Messages).
	Redacted int
	Text     string
	Calls    []Call
	// Stop overrides the stop reason ("max_tokens", "length", "MAX_TOKENS", …).
	Stop string
	// Output is the reported usage in tokens; 0 counts what is there.
	Output int
}

// A Call is one tool call. Exactly one of Shell, Read and Tool is set.
type Call struct {
	Shell string // a command line for the client's shell tool
	Read  string // a path for the client's file tool, or for cat where there is none
	Tool  string // a tool by name, with Args
	Args  any
	ID    string // "" makes one up
	// Namespace of a Responses tool and Kind ("custom", "local_shell") are filled in from
	// the request's declarations.
	Namespace string
	Kind      string
}

// resolve turns what calls are for into calls of the tools that the request declares. A
// call for which the client has no tool becomes text, so that a task ends and says why.
func (reply *Reply) resolve(p *Provider, r *Request) {
	calls := reply.Calls
	reply.Calls = nil
	for _, c := range calls {
		t, ok := Tool{Name: c.Tool}, c.Tool != ""
		switch {
		case c.Shell != "":
			if t, ok = r.tool(shellTools...); ok {
				c.Args = t.shell(c.Shell)
			}
		case c.Read != "":
			if t, ok = r.tool(readingTools...); ok {
				c.Args = t.arguments(pathMembers, c.Read)
			} else if t, ok = r.tool(shellTools...); ok {
				c.Args = t.shell("cat " + c.Read)
			}
		default:
			if found, declared := r.tool(c.Tool); declared {
				t = found
			}
		}
		if !ok {
			reply.Text += fmt.Sprintf("(no tool for %q is declared)", c.Shell+c.Read)
			continue
		}
		c.Tool, c.Namespace, c.Kind = t.Name, t.Namespace, t.Kind
		if c.ID == "" {
			c.ID = p.id(idPrefixes[r.Dialect])
		}
		reply.Calls = append(reply.Calls, c)
	}
}

// arguments returns the call's arguments as JSON text.
func (c Call) arguments() string {
	if raw, ok := c.Args.(json.RawMessage); ok {
		return string(raw)
	}
	if c.Args == nil {
		return "{}"
	}
	text, err := json.Marshal(c.Args)
	if err != nil {
		panic(fmt.Sprintf("scripted: the arguments of %s: %v", c.Tool, err))
	}
	return string(text)
}

// Shells returns a script that runs one command per turn and then ends with a text.
func Shells(end string, commands ...string) Script {
	return func(turn int, _ *Request) Reply {
		if turn >= len(commands) {
			return Reply{Text: end}
		}
		return Reply{Text: fmt.Sprintf("Step %d of %d.", turn+1, len(commands)), Calls: []Call{{Shell: commands[turn]}}}
	}
}

// Thoughtful puts thinking ahead of every reply of a script that has none, another for every turn.
func Thoughtful(script Script) Script {
	return func(turn int, r *Request) Reply {
		reply := script(turn, r)
		if reply.Thinking == "" {
			reply.Thinking = fmt.Sprintf("This is turn %d; the next step follows.", turn)
		}
		return reply
	}
}

// Replies returns a script that plays its replies in order and repeats the last one.
func Replies(list ...Reply) Script {
	return func(turn int, _ *Request) Reply { return list[max(0, min(turn, len(list)-1))] }
}

// answerAside answers what is no turn of the task: a client's own compaction gets a summary that
// its parsers accept, its question whether a call does harm a no, everything else a title.
func answerAside(_ int, r *Request) Reply {
	if bytes.Contains(r.Body, []byte("<severity>N</severity>")) { // Claude Code's mode "auto"
		return Reply{Text: "<severity>1</severity>"}
	}
	if !r.Compaction {
		if form, ok := r.answerSchema(); ok {
			text, err := json.Marshal(form.plain("answer"))
			if err == nil {
				return Reply{Text: string(text)}
			}
		}
		return Reply{Text: "A scripted task"}
	}
	summary := "The user gave a task; commands were run one after the other; go on with the next step."
	if r.Summarize {
		return Reply{Text: summary}
	}
	return Reply{Text: "<analysis>" + summary + "</analysis>\n<summary>\n" + summary + "\n</summary>\n" +
		"<state_snapshot>\n<overall_goal>" + summary + "</overall_goal>\n</state_snapshot>"}
}

// answerSchema returns the schema that the answer has to fit, where the request names one.
func (r *Request) answerSchema() (schema, bool) {
	var body struct {
		GenerationConfig struct{ ResponseJSONSchema, ResponseSchema json.RawMessage }
		Text             struct {
			Format struct{ Schema json.RawMessage }
		}
		ResponseFormat struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
		OutputFormat struct{ Schema json.RawMessage } `json:"output_format"`
		OutputConfig struct {
			Format struct{ Schema json.RawMessage }
		} `json:"output_config"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return schema{}, false
	}
	for _, raw := range []json.RawMessage{
		body.GenerationConfig.ResponseJSONSchema, body.GenerationConfig.ResponseSchema, body.Text.Format.Schema,
		body.ResponseFormat.JSONSchema.Schema, body.OutputFormat.Schema, body.OutputConfig.Format.Schema,
	} {
		var s schema
		if len(raw) > 0 && json.Unmarshal(raw, &s) == nil {
			return s, true
		}
	}
	return schema{}, false
}
