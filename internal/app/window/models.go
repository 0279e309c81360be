package window

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/window/models"
)

// Model describes one model at one place, as `models --json` prints it. Windows are tokens; 0 is unknown.
type Model struct {
	Upstream string `json:"upstream"`
	Model    string `json:"model"`
	Context  int    `json:"context"`
	Input    int    `json:"input,omitempty"`
	Output   int    `json:"output,omitempty"`
	// Source is "config", "learned", "server", "refreshed", "catalogue", "elsewhere", "family" or "default".
	Source string `json:"source"`
	// Guessed is true when a window is not held before the provider has refused once.
	Guessed bool       `json:"guessed,omitempty"`
	Learned *time.Time `json:"learned,omitempty"`
}

// ModelList holds the known windows: those that the user has set and that providers have taught, and those that were asked for of the catalogue.
type ModelList struct {
	Catalogue string         `json:"catalogue"` // the day the built-in one is of
	Providers map[string]int `json:"providers"` // how many models it has of each
	Models    []Model        `json:"models"`
	// Refreshed is the refreshed catalogue that the user has put in front of the built-in one.
	Refreshed *models.Refreshed `json:"refreshed,omitempty"`
}

// ModelProviders returns the providers of the catalogue.
func ModelProviders() []string {
	names, _ := new(models.Catalogue).Providers()
	return names
}

// Models lists what is known of a model ("" is of none in particular), and all of a provider's when one is named.
func Models(app *core.Core, name, provider string) (ModelList, error) {
	settings, err := app.Config.For("")
	if err != nil {
		return ModelList{}, err
	}
	dir := limitsDir(app)
	catalogue, err := models.Open(dir)
	if err != nil {
		app.Warn("the refreshed catalogue is not used: " + err.Error() + "; --refresh writes it anew, --reset removes it")
	}
	names, count := catalogue.Providers()
	list := ModelList{Catalogue: models.CatalogueDate, Providers: count, Models: []Model{}}
	if catalogue.Refreshed.Origin != "" {
		list.Refreshed = &catalogue.Refreshed
	}
	w := settings.Window
	same := strings.ToLower(strings.TrimSpace(name))
	for _, m := range w.Models {
		if m.Context == 0 && m.Output == 0 {
			continue // only its prices are written
		}
		if own := strings.ToLower(m.Name); name == "" || own == same || strings.HasSuffix(same, "/"+own) {
			list.Models = append(list.Models, Model{Upstream: "all", Model: m.Name, Context: m.Context, Output: m.Output, Source: models.SourceConfig})
		}
	}
	if w.MaxTokens > 0 {
		list.Models = append(list.Models, Model{Upstream: "all", Model: "all", Context: w.MaxTokens, Source: models.SourceConfig})
	}
	for _, p := range names {
		if n := w.ProviderTokens[p]; n > 0 {
			list.Models = append(list.Models, Model{Upstream: p, Model: "all", Context: n, Source: models.SourceConfig})
		}
	}
	learned, err := models.Learned(dir)
	if err != nil {
		app.Warn("not all that was learned is listed: " + err.Error())
	}
	for _, e := range learned {
		if name == "" || e.Model == same || e.Model == same+"[1m]" {
			list.add(e)
		}
	}
	switch {
	case name != "" && provider != "":
		found, ok := catalogue.Lookup(provider, name, nil)
		if !ok {
			found = models.NewResolver(models.Options{Dir: dir, Overrides: models.Overrides{Provider: w.Provider}}).Window(provider, name, nil)
		}
		list.add(models.Entry{Upstream: provider, Model: name, Window: found})
	case name != "":
		known := catalogue.Known(name)
		if len(known) == 0 {
			known = []models.Entry{{Upstream: "any", Model: name, Window: models.NewResolver(models.Options{Dir: dir}).Window("", name, nil)}}
		}
		for _, e := range known {
			list.add(e)
		}
	case provider != "":
		all := catalogue.Of(provider)
		if len(all) == 0 {
			return ModelList{}, fmt.Errorf("the catalogue has no provider %q; it has %s", provider, strings.Join(names, ", "))
		}
		for _, e := range all {
			list.add(e)
		}
	}
	return list, nil
}

func (l *ModelList) add(e models.Entry) {
	m := Model{
		Upstream: e.Upstream, Model: e.Model, Context: e.Window.Context, Input: e.Window.Input, Output: e.Window.Output,
		Source: e.Window.Source, Guessed: e.Window.Guessed(),
	}
	if !e.Learned.IsZero() {
		m.Learned = &e.Learned
	}
	l.Models = append(l.Models, m)
}
