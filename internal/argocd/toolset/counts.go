package toolset

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
)

// summary holds the counts over all matches, as in an answer.
type summary struct {
	Health     map[string]int `json:"health,omitempty"`
	Sync       map[string]int `json:"sync,omitempty"`
	Connection map[string]int `json:"connection,omitempty"`
	// Projects are the ten with the most matches.
	Projects        projectCounts `json:"projects,omitempty"`
	OtherProjects   int           `json:"other_projects,omitempty"`
	InOtherProjects int           `json:"in_other_projects,omitempty"`
}

// summaryOf returns the summary of counts; nil if nothing was counted.
func summaryOf(c *inventory.Counts) *summary {
	if c == nil || len(c.Health)+len(c.Sync)+len(c.Connection)+len(c.Projects) == 0 {
		return nil
	}
	return &summary{
		Health: c.Health, Sync: c.Sync, Connection: c.Connection, Projects: c.Projects,
		OtherProjects: c.OtherProjects, InOtherProjects: c.InOtherProjects,
	}
}

// projectCounts is encoded as one object whose keys keep their order: half the size of an array of objects.
type projectCounts []inventory.ProjectCount

// MarshalJSON returns {"name":count,…}.
func (p projectCounts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(one.Count))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
