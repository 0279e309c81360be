package inventory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// Counts are counts over all matches of a listing or a search, not only those on a page. What a kind does not have is empty.
type Counts struct {
	// Health counts by health.status (applications, application sets). A status that is not set counts as
	// "none".
	Health map[string]int `json:"health,omitempty"`
	// Sync counts by sync.status (applications).
	Sync map[string]int `json:"sync,omitempty"`
	// Connection counts by connectionState.status (clusters).
	Connection map[string]int `json:"connection,omitempty"`
	// Projects are the ten with the most matches, by count and then by name.
	Projects []ProjectCount `json:"projects,omitempty"`
	// OtherProjects is the number of further projects, InOtherProjects that of their matches.
	OtherProjects   int `json:"other_projects,omitempty"`
	InOtherProjects int `json:"in_other_projects,omitempty"`
}

// ProjectCount is the number of matches in one project.
type ProjectCount struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

const (
	// topProjects bounds the projects in Counts.Projects.
	topProjects = 10
	// maxStatuses bounds the different values of a status that are counted. Argo CD has six; a server may send
	// others.
	maxStatuses = 32
	// otherStatus is the name under which further values are counted.
	otherStatus = "other"
	// maxNames bounds the projects that are counted in memory, about 400 KiB (with the longest names 1 MiB);
	// further ones are counted on the disk.
	maxNames = 4096
)

// counter makes Counts of any number of entries in constant memory. It is not for several goroutines.
type counter struct {
	kind             argocd.Kind
	health, statuses map[string]int
	projects         map[string]int
	beyond           sorter // records of project and count, once there were more than maxNames
	runsWritten      bool
}

func newCounter(kind argocd.Kind, d *scratchDisk, memory int) *counter {
	return &counter{
		kind: kind, health: map[string]int{}, statuses: map[string]int{}, projects: map[string]int{},
		beyond: sorter{d: d, limit: memory},
	}
}

// countStatus counts a status, cut to maxName bytes; one beyond maxStatuses different ones counts as otherStatus.
func countStatus(counts map[string]int, status []byte) {
	status = clip(status, maxName)
	if _, known := counts[string(status)]; !known && len(counts) >= maxStatuses {
		status = []byte(otherStatus)
	}
	counts[string(status)]++
}

// countEntry counts an entry by its status and its project; of projects nothing is counted, and of clusters only the status. If there are
// more than maxNames projects, the counts so far go to a scratch file.
func (c *counter) countEntry(e *entry) error {
	switch c.kind {
	case argocd.Applications:
		countStatus(c.health, statusOrNone(e.health))
		countStatus(c.statuses, statusOrNone(e.sync))
	case argocd.ApplicationSets:
		countStatus(c.health, statusOrNone(e.health))
	case argocd.Clusters:
		countStatus(c.statuses, statusOrNone(e.sync))
		return nil // most clusters are in no project, and most projects have no cluster
	case argocd.Projects:
		return nil // nothing is counted
	}
	name := clip(statusOrNone(e.project), maxName)
	if _, known := c.projects[string(name)]; !known && len(c.projects) >= maxNames {
		if err := c.spillProjects(); err != nil {
			return err
		}
	}
	c.projects[string(name)]++
	return nil
}

// spillProjects writes the counts of the projects into the scratch file, and begins anew.
func (c *counter) spillProjects() error {
	c.runsWritten = true
	for name, n := range c.projects {
		if err := c.beyond.addRecord([]byte(name), binary.AppendUvarint(nil, uint64(n))); err != nil {
			return err
		}
	}
	clear(c.projects)
	return nil
}

// finish returns the counts; nil, nil for projects, which are not counted. It may be called only once, after the last countEntry.
func (c *counter) finish() (*Counts, error) {
	counts := &Counts{}
	switch c.kind {
	case argocd.Projects:
		return nil, nil
	case argocd.Clusters:
		counts.Connection = c.statuses
		return counts, nil
	case argocd.Applications:
		counts.Sync = c.statuses
	}
	counts.Health = c.health
	top := tally{}
	if !c.runsWritten {
		for name, n := range c.projects {
			top.addProject(name, n)
		}
	} else {
		if err := c.spillProjects(); err != nil {
			return nil, err
		}
		var name []byte
		sum := 0
		err := c.beyond.forEach(func(key, row []byte) error {
			if !bytes.Equal(key, name) {
				top.addProject(string(name), sum)
				name, sum = bytes.Clone(key), 0
			}
			n, _ := binary.Uvarint(row)
			sum += int(n)
			return nil
		})
		if err != nil {
			return nil, err
		}
		top.addProject(string(name), sum)
	}
	top.setProjects(counts)
	return counts, nil
}

func (c *counter) close() { c.beyond.close() }

// tally keeps the projects with the most matches.
type tally struct {
	top      []ProjectCount // in order, at most topProjects
	projects int
	matches  int
}

// addProject adds the n matches of one project to the totals, and keeps the project if it is among the topProjects with the most.
func (t *tally) addProject(name string, n int) {
	if n == 0 {
		return
	}
	t.projects++
	t.matches += n
	p := ProjectCount{name, n}
	at, _ := slices.BinarySearchFunc(t.top, p, func(a, b ProjectCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	if at < topProjects {
		t.top = slices.Insert(t.top, at, p)
		t.top = t.top[:min(topProjects, len(t.top))]
	}
}

func (t *tally) setProjects(c *Counts) {
	c.Projects = t.top
	c.OtherProjects, c.InOtherProjects = t.projects-len(t.top), t.matches
	for _, p := range t.top {
		c.InOtherProjects -= p.Count
	}
}

// clone returns a copy, so that each caller has its own counts; nil for nil.
func (c *Counts) clone() *Counts {
	if c == nil {
		return nil
	}
	copied := *c
	copied.Health, copied.Sync, copied.Connection = maps.Clone(c.Health), maps.Clone(c.Sync), maps.Clone(c.Connection)
	copied.Projects = slices.Clone(c.Projects)
	return &copied
}
