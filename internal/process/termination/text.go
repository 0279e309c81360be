package termination

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// named bounds the processes that are named.
	named = 8
	// maxReason and maxName bound, in bytes, what others say: all of it together stays below [MaxMessage].
	maxReason = 1500
	maxInner  = 300
	maxName   = 64
)

// sight holds the use of memory seen at one moment.
type sight struct {
	at        time.Time
	group     group
	used      limit.Bytes // without what is given back before anybody is killed
	inMemory  limit.Bytes // files
	processes []proc      // the largest first
}

func (s sight) percent() int {
	if s.group.limit <= 0 {
		return 0
	}
	return int(100 * float64(s.used) / float64(s.group.limit))
}

// culprit returns the largest process in words; "" when none was seen.
func (s sight) culprit() string {
	if len(s.processes) == 0 {
		return ""
	}
	return s.processes[0].String()
}

func (p proc) String() string {
	return fmt.Sprintf("%s (pid %d) with %s", printable.Name(limit.Short(p.name, maxName)), p.pid, p.held.Human())
}

// text returns what stands in the file. high is the sight, the highest one when the use has fallen since, and now the one after that; inner
// are the limits inside the container in words, reason why the program has ended, both "" for none.
func text(high sight, now *sight, inner, reason string) string {
	var b strings.Builder
	b.WriteString(own)
	if reason != "" {
		b.WriteString(strings.TrimPrefix(limit.Short(printable.Text(reason), maxReason), own))
		if high.at.IsZero() {
			return b.String()
		}
		b.WriteString("\n\n")
	}
	of := fmt.Sprintf("%d %% of its memory, %s of %s", high.percent(), high.used.Human(), high.group.limit.Human())
	if now == nil {
		fmt.Fprintf(&b, "this container uses %s. If it was OOMKilled, this is why.\n", of)
	} else {
		fmt.Fprintf(&b, "this container has used %s, and uses %d %% since %s.\n", of, now.percent(), now.at.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "Seen at %s, limit %s in %s.\n", high.at.UTC().Format(time.RFC3339), high.group.limitFile(), limit.Short(printable.Name(high.group.dir), 2*maxName))
	b.WriteString("What takes it:\n")
	rest, others := limit.Bytes(0), 0
	for i, p := range high.processes {
		if i < named {
			fmt.Fprintf(&b, "  %s\n", p)
			continue
		}
		rest += p.held
		others++
	}
	switch {
	case len(high.processes) == 0:
		b.WriteString("  its processes could not be seen\n")
	case others > 0:
		fmt.Fprintf(&b, "  %d others with %s\n", others, rest.Human())
	}
	if high.inMemory >= limit.MiB {
		fmt.Fprintf(&b, "  files in memory (/dev/shm, tmpfs, volumes of medium Memory) with %s\n", high.inMemory.Human())
	}
	if inner != "" {
		fmt.Fprintf(&b, "Limits inside: %s.\n", limit.Short(printable.Name(inner), maxInner))
	}
	fmt.Fprintf(&b, "What to do: raise resources.limits.memory of this container (half as much again is %dMi), or let it do less at once. "+
		"At the limit the kernel ends every process of the container, not only the largest.\n", mebibytes(high.group.limit*3/2))
	return b.String()
}

// mebibytes rounds up.
func mebibytes(b limit.Bytes) int64 { return int64((b + limit.MiB - 1) / limit.MiB) }
