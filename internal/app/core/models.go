package core

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/budgets"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/window/models"
)

// OpenBook returns the book of the budgets for a project, by its key; nil where [budget] bounds nothing. With a fleet they are those of all hosts.
func (c *Core) OpenBook(s config.Settings, project string) (*spend.Book, error) {
	if !spend.Budget(s.Budget).IsSet() {
		return nil, nil
	}
	state, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	book := spend.OpenBook(filepath.Join(state, "spend"), project, spend.Budget(s.Budget))
	shared, host, err := c.JoinFleet(s)
	if err != nil {
		return nil, err
	}
	if shared == nil {
		return book, nil
	}
	// The same project lies elsewhere on another host: its name is what they have in common.
	name := project[:max(strings.LastIndexByte(project, '-'), 0)]
	book.Join(budgets.NewTeam(shared.Bucket(fleet.Budgets), host.Name), cmp.Or(name, project), func(err error) {
		c.Warn(fmt.Sprintf("this host goes on with its share of the budgets, since the others can't be asked: %v", err))
	})
	return book, nil
}

// OpenMeter returns a meter that holds the same budgets for what is sent without a run; nil where there are none. Its owner closes it.
func (c *Core) OpenMeter(s config.Settings, project string) (*spend.Meter, error) {
	book, err := c.OpenBook(s, project)
	if err != nil || book == nil {
		return nil, err
	}
	return spend.New(spend.Options{Book: book, OnLine: func(l spend.Line) { c.Warn(l.Sentence()) }}), nil
}

// ProxyName is the environment variable by which a run inside a run finds the proxy of the outer one: its address with the token.
const ProxyName = "PLIMSOLL_PROXY"

// ThroughProxy reports whether a base URL is that of the proxy of the run around this process.
func ThroughProxy(url string) bool {
	outer := os.Getenv(ProxyName)
	token := outer[strings.LastIndexByte(outer, '/')+1:] // the proxy may have two addresses
	return token != "" && strings.Contains(url, "/"+token+"/")
}

// PriceOf returns the price of a model at an upstream, false where it is not known.
type PriceOf func(upstream, model string) (models.Price, bool)

// Prices returns a function that returns the price of a model at an upstream: what the person has written in [models."NAME"], with or without
// the part of the name before the last slash, else what the catalogue has; false where neither has one. A price is never guessed.
func Prices(l *config.Loaded) PriceOf {
	written := slices.DeleteFunc(l.Models(), func(m config.ModelLimits) bool { return m.ModelPrices == (config.ModelPrices{}) })
	return func(upstream, model string) (models.Price, bool) {
		for _, name := range []string{model, model[strings.LastIndexByte(model, '/')+1:]} {
			for i := range written {
				if m := &written[i]; strings.EqualFold(m.Name, name) {
					return models.Price{Rate: models.Rate{Input: m.Input, Output: m.ModelPrices.Output, CacheRead: m.Cached}, Source: models.SourceConfig}, true
				}
			}
		}
		return models.LookupPrice(upstream, model)
	}
}

// Overrides returns the windows that the user has set.
func Overrides(w config.WindowSettings) models.Overrides {
	o := models.Overrides{Provider: w.Provider, Max: max(w.MaxTokens, 0), ByProvider: w.ProviderTokens}
	for _, m := range w.Models {
		if o.ByModel == nil {
			o.ByModel = map[string]models.ModelOverride{}
		}
		o.ByModel[strings.ToLower(m.Name)] = models.ModelOverride{Context: m.Context, Output: m.Output}
	}
	return o
}

// OnLoopback reports whether the host of a URL is this machine, so that nobody on the way can listen.
func OnLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
