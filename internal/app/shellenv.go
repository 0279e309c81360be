package app

import "github.com/plimsoll/plimsoll/internal/app/shellenv"

// ShellenvOptions are the settings of `plimsoll shellenv`.
type ShellenvOptions = shellenv.Options

// Shellenv returns the text by which a shell starts agents in runs. It needs no configuration.
func Shellenv(o ShellenvOptions) (string, error) { return shellenv.Script(o) }

// ShellenvAgents returns the agents that it is about where they are installed.
func ShellenvAgents() []string { return shellenv.Known() }

// Shells returns the shells that there is a text for.
func Shells() []string { return shellenv.Shells() }
