package setup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/lazy"
)

// modelServer is a place on this machine where a server of models may answer.
type modelServer struct{ name, url string }

// modelServers are the addresses at which such servers listen unless somebody has changed that.
var modelServers = []modelServer{
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
	{"llama.cpp", "http://127.0.0.1:8080/v1"},
}

func addresses(servers []modelServer) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.url
	}
	return all
}

// found is a model that answers here.
type found struct{ server, url, model string }

// answeringServer is a server that has listed its models.
type answeringServer struct {
	modelServer
	models []string
}

const (
	// modelsWait bounds the wait for a list of models: a server on this machine has it at hand.
	modelsWait = 300 * time.Millisecond
	// modelsBytes and modelsMost bound a list.
	modelsBytes = 1 << 20
	modelsMost  = 200
)

// askServers asks all servers at once for their models, and returns those that answer, in the same order. It does not follow redirects, nor
// use the proxies of the environment: only this machine is asked.
func askServers(ctx context.Context, servers []modelServer) (all []answeringServer) {
	client := &http.Client{
		Timeout: modelsWait, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	lists := make([][]string, len(servers))
	var asked sync.WaitGroup
	for i, s := range servers {
		asked.Go(func() { lists[i], _ = listModels(ctx, client, s.url) }) // whoever does not answer is not there
	}
	asked.Wait()
	for i, s := range servers {
		if len(lists[i]) > 0 {
			all = append(all, answeringServer{s, lists[i]})
		}
	}
	return all
}

// listModels asks a server for its models. An answer other than 200 is an error, one that cannot be read has none.
func listModels(ctx context.Context, client *http.Client, url string) ([]string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/models", nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, modelsBytes))
	if err != nil {
		return nil, err
	}
	return readModels(body), nil
}

// modelID matches an identifier that can be shown and written into a file as it is.
var modelID = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

// readModels returns the identifiers in an answer to GET /v1/models, at most modelsMost. Those of an unusual form are left out; an answer
// that is not JSON has none.
func readModels(body []byte) (all []string) {
	var list struct {
		Data []struct{ ID string } `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	for _, m := range list.Data {
		if len(all) < modelsMost && modelID().MatchString(m.ID) {
			all = append(all, m.ID)
		}
	}
	return all
}

var embedding = lazy.Regexp(`(?i)embed|minilm|(^|[^a-z0-9])(bge|e5|gte)([^a-z0-9]|$)`)

// embeds reports whether a model makes vectors, by its name: the list of a server does not say.
func embeds(model string) bool { return embedding().MatchString(model) }

// planToolsMax asks how much of the window the definitions of tools may take, for clients that give their model all of them, and plans the
// change. Unless somebody chooses it, it stays off: some tools are then found only by a search.
func (s *site) planToolsMax() error {
	if len(s.undeferred) == 0 && s.o.ToolsMax == "" || s.o.ToolsMax == "" && (s.o.Yes || s.o.DryRun || s.o.Ask == nil) {
		return nil
	}
	own, err := config.NewDirs(s.o.Getenv).ConfigFile()
	if err != nil {
		return err
	}
	shorts := make([]string, len(s.undeferred))
	for i, path := range s.undeferred {
		shorts[i] = s.shortPath(path)
	}
	of := "clients that give their model all of them"
	if len(shorts) > 0 {
		of = "the clients of " + list(shorts, "and")
	}
	answer, err := s.answer(Question{
		Flag: "tools-max", Text: "Let the definitions of MCP tools take at most 8,000 tokens of each request of " + of + "?",
		About:   "The configuration gets tools_max = \"8k\" in [mcp]: of more, the tools used most are listed and the others found by tool_search.",
		Answers: "Enter: no; y: yes", Given: s.o.ToolsMax, no: true,
	}, func() string { return preview(s.planInsertion(whatBound, own, toolsMax.text)) })
	if err != nil || answer == "no" {
		return err
	}
	f, i, err := s.planInsertion(whatBound, own, toolsMax.text)
	return s.addInsertion(Change{What: whatBound, File: own}, f, i, err)
}
