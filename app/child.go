package app

import "github.com/plimsoll/plimsoll/tools/spool/query"

// Child is the main function of the processes that this program starts of itself, and says
// whether this is one: a query of a kept result runs in a process of its own.
func Child(argv []string) (status int, is bool) {
	if len(argv) < 2 || argv[1] != query.Argument {
		return 0, false
	}
	return query.Main(), true
}
