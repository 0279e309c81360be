package app

import (
	"github.com/plimsoll/plimsoll/internal/app/core"
)

// Options configure an [App]; the zero value means this process: its environment and
// working directory.
type Options = core.Options

// App is a checked configuration and the places where state lives.
type App struct{ *core.Core }

// New loads the configuration. Its error is a *config.Error when a file, a variable or a
// flag says something wrong; nothing is made on disk.
func New(o Options) (*App, error) {
	c, err := core.New(o)
	if err != nil {
		return nil, err
	}
	return &App{c}, nil
}
