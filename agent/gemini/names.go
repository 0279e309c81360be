package gemini

import (
	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
)

// toolNames maps names of tools to those that Google takes: as the others do, and with a letter or an underscore at the
// beginning ("Function name must start with a letter or an underscore"). The zero value is ready.
type toolNames struct {
	modelapi.Names
	led map[string]string // by the name that is sent
}

// sentName returns the name to send. It depends on the name alone.
func (n *toolNames) sentName(name string) string {
	if name == "" || name[0] != '-' && (name[0] < '0' || name[0] > '9') {
		return n.Out(name)
	}
	sent := n.Out("_" + name)
	if n.led == nil {
		n.led = map[string]string{}
	}
	n.led[sent] = name
	return sent
}

// learn notes the names of a request's tools, and of the calls in its history.
func (n *toolNames) learn(r *agent.Request) {
	for _, t := range r.Tools {
		n.sentName(t.Name)
	}
	for i := range r.Messages {
		for _, c := range r.Messages[i].Calls {
			n.sentName(c.Name)
		}
	}
}

// ownName returns the name of the tool that the model means.
func (n *toolNames) ownName(sent string) string {
	if name, ok := n.led[sent]; ok {
		return name
	}
	return n.Back(sent)
}
