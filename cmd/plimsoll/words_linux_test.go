package main

import (
	"strings"
	"testing"
)

// What people read is in their words: each line is a command, what it says, and what it said before, which only somebody who knows
// Plimsoll from within could read.
func TestWordsAreAPersons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args        []string
		code        int
		says, never []string
	}{
		"a health without a daemon": {
			[]string{"health", "--url", "http://127.0.0.1:1"},
			1,
			[]string{"the daemon at 127.0.0.1:1: nothing listens there", "is plimsoll serve running there?"},
			[]string{"dial tcp", "connect:"},
		},
		"a provider that nobody knows": {
			[]string{"ask", "--model", "nosuchprovider/x", "hi"},
			125,
			[]string{`"nosuchprovider" is no provider that is known`, "openrouter", "ollama", "--base-url"},
			[]string{"OPENAI_API_KEY"},
		},
		"a table": {
			[]string{"config", "explain", "memory"},
			0,
			[]string{"[memory]: what is kept of conversations, and found again", "memory.on = ", "(default)", "plimsoll config explain memory.", "The limits of a run are other keys: plimsoll config explain memory_max, or "},
			[]string{"not a key"},
		},
		"a table for a program": {[]string{"config", "explain", "--json", "[window]"}, 0, []string{`"table": "window"`, `"key": "window.trigger"`}, nil},
		"a reservation that can never be": {
			[]string{"run", "--reserve", "900T", "--", "true"},
			125,
			[]string{"it needs 900 TiB", "lower --reserve, which asks for 900 TiB"},
			[]string{"0M", "the estimate of true"},
		},
		"a limit above the machine": {
			[]string{"run", "--memory-max", "900T", "--", "true"}, 0, []string{"the memory limit is 900 TiB: --memory-max is more than the ", " of this machine"}, nil,
		},
		"a value of a flag": {
			[]string{"run", "--memory-max", "nonsense", "--", "true"},
			125,
			[]string{`plimsoll: --memory-max: "nonsense" is not a size; write --memory-max=4G`},
			[]string{"resources.memory_max", "the configuration"},
		},
		"what cannot be enforced": {
			[]string{"run", "--enforcement", "required", "--layer", "monitor", "--", "true"}, 125, []string{"It is --enforcement that demands this."}, nil,
		},
		"a dry run": {
			[]string{"run", "--dry-run", "--", "true"},
			0,
			[]string{"a first guess; no run has shown a need yet", "0 of this tool, 0 of all"},
			[]string{"slots", "never run before"},
		},
		"a help":                  {[]string{"watch", "--help"}, 0, []string{"without a shell"}, []string{"split at spaces", "ledger"}},
		"the agent that is asked": {[]string{"ask", "--help"}, 0, []string{"(default: yours, if you have one)"}, []string{"the only one that is configured"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			o := s.plimsoll(c.args...)
			said := strings.Join(strings.Fields(o.stdout+"\n"+o.stderr), " ")
			if o.code != c.code {
				t.Errorf("status %d, want %d", o.code, c.code)
			}
			contains(t, "it", said, c.says...)
			for _, word := range c.never {
				if strings.Contains(said, word) {
					t.Errorf("it says %q: %s", word, said)
				}
			}
		})
	}
}

// A script of its own is named as it was called, wherever runs are named, and two are told apart where their needs are.
func TestAScriptIsNamedAsItWasCalled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, script := range []string{"exit 0", "exit 0 # another"} {
		if o := s.plimsoll("run", "--quiet", "--", "sh", "-c", script); o.code != 0 {
			t.Fatalf("%+v", o)
		}
	}
	page := s.plimsoll("runs", "last")
	contains(t, "its page", page.stdout, "sh -c in web: ok", "500 MiB, a first guess; no run has shown a need yet")
	needs := s.plimsoll("stats")
	contains(t, "what was needed", needs.stdout, "sh -c (script ", "P95 and MAX are what was needed")
	for _, text := range []string{page.stdout, needs.stdout} {
		if strings.Contains(text, "code-") {
			t.Errorf("it says code-…:\n%s", text)
		}
	}
}

// A note says for what it is kept and from whom it is.
func TestANoteSaysFromWhomItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contains(t, "memory add", s.plimsoll("memory", "add", "we chose postgres").stdout, "kept for every project, as said by you: ")
	contains(t, "memory list", s.plimsoll("memory", "list").stdout, "note from you · ", " · every project · ")
}
