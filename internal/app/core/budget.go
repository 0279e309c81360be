package core

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/budgets"
	"github.com/plimsoll/plimsoll/internal/spend"
)

// OpenBook returns the book of the budgets for a project, by its key; nil where [budget] bounds nothing. With a fleet they are those of all
// hosts.
func (c *Core) OpenBook(s config.Settings, project string) (*spend.Book, error) {
	if !spend.Budget(s.Budget).Any() {
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
	book.Join(budgets.Of(shared.Bucket(fleet.Budgets), host.Name), cmp.Or(name, project), func(err error) {
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
	return spend.New(spend.Options{Book: book, OnLine: func(l spend.Line) { c.Warn(l.Words()) }}), nil
}

// ProxyName is the environment variable by which a run inside a run finds the proxy of the outer one: its address with the token.
const ProxyName = "PLIMSOLL_PROXY"

// ThroughProxy reports whether a base URL is that of the proxy of the run around this process.
func ThroughProxy(url string) bool {
	outer := os.Getenv(ProxyName)
	token := outer[strings.LastIndexByte(outer, '/')+1:] // the proxy may have two addresses
	return token != "" && strings.Contains(url, "/"+token+"/")
}
