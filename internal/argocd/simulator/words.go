package simulator

import (
	"embed"
	"encoding/json"
)

// files are the templates and words of the recorded installation. The order of words and states is part of what a seed means. Each list of
// names is sorted in the order of name+"-", and no entry with a "-" behind it begins another: so names in the order of their parts are in
// the order of their bytes, and a name can be taken apart again.
//
//go:embed templates words.json
var files embed.FS

type word struct {
	Domains, Components, Teams, Fleets []string
	Places                             []string // environments, some of them with a region: production is met more often

	Regions, People, Charts, Tiers, Options, Failures, Requests []string

	Kinds  []resourceKind // sorted by group and kind, as the server sorts status.resources
	States []state        // with the counts of the recorded list

	Clusters []cluster
}

// resourceKind is a kind of Kubernetes object that applications consist of.
type resourceKind struct {
	Group, Version, Kind string
	Cluster              bool // has no namespace
	Healthy              bool // Argo CD knows a health of it
	Pods                 bool
}

// state is a health and a sync status that occur together, and how often of 819.
type state struct {
	Health, Sync string
	Weight       int
}

// lists returns the lists by the names that templates know them by.
func (w *word) lists() map[string][]string {
	return map[string][]string{"people": w.People, "tiers": w.Tiers, "places": w.Places, "requests": w.Requests}
}

func words() (w word) {
	text, err := files.ReadFile("words.json")
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		panic(err) // a file of this package, which every test reads
	}
	return w
}
