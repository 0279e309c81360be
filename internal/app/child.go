package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Child runs as the main function of the processes that this program starts of itself, and says
// whether this is one: a query of a kept result runs in a process of its own, and so does
// what takes memory on purpose.
func Child(argv []string) (status int, is bool) {
	switch {
	case len(argv) < 2:
		return 0, false
	case argv[1] == query.Argument:
		return query.Main(), true
	case argv[1] == agents.HogArgument:
		if err := hog(argv[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "plimsoll:", err)
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func hog(args []string) error {
	if len(args) != 1 {
		return errors.New("one number of MiB is wanted")
	}
	return lab.Hog(args[0], os.Stdin, os.Stdout)
}

// ReapOrphans lets processes go that have lost their parent and ended, when this program is the first process of a container: there
// they become its children.
func ReapOrphans() { sandbox.ReapOrphans() }
