// Command grafana writes the dashboard of Plimsoll for Grafana.
//
//	go run ./deploy/grafana >deploy/grafana/plimsoll.json
//
// The dashboard is code, so that its queries can be read, reviewed and tested: a test runs every one of them against a real
// Prometheus that has scraped a real daemon. What the metrics mean stands in docs/metrics.md. To change a panel, change it in
// panels.go, run the command and import the file again: its uid stays.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Dashboard is the document that Grafana imports, as far as this one uses it (its JSON model, schema version 39).
type Dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	Refresh       string     `json:"refresh"`
	Time          Range      `json:"time"`
	Templating    Templating `json:"templating"`
	Panels        []Panel    `json:"panels"`
}

// Range is the time that is shown at first.
type Range struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Templating has the variables at the top.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is one of them: the source of data, or label values.
type Variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"` // "datasource" or "query"
	Query      string      `json:"query"`
	Datasource *Datasource `json:"datasource,omitempty"`
	Refresh    int         `json:"refresh,omitempty"`
	Multi      bool        `json:"multi,omitempty"`
	IncludeAll bool        `json:"includeAll,omitempty"`
	AllValue   string      `json:"allValue,omitempty"`
}

// Datasource names where a panel's data come from.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Panel is a graph, a number, or the heading of a row.
type Panel struct {
	ID          int          `json:"id"`
	Type        string       `json:"type"` // "timeseries", "stat", "row"
	Title       string       `json:"title"`
	Description string       `json:"description,omitempty"`
	GridPos     Position     `json:"gridPos"`
	Datasource  *Datasource  `json:"datasource,omitempty"`
	FieldConfig *FieldConfig `json:"fieldConfig,omitempty"`
	Targets     []Target     `json:"targets,omitempty"`
	Collapsed   bool         `json:"collapsed"`
}

// Position is in a grid of 24 columns.
type Position struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

// FieldConfig has the unit and the lines that colours change at.
type FieldConfig struct {
	Defaults  Defaults `json:"defaults"`
	Overrides []string `json:"overrides"`
}

// Defaults are those of all fields.
type Defaults struct {
	Unit       string      `json:"unit"`
	Min        *float64    `json:"min,omitempty"`
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	Custom     *Custom     `json:"custom,omitempty"`
}

// Thresholds are the lines.
type Thresholds struct {
	Mode  string `json:"mode"`
	Steps []Step `json:"steps"`
}

// Step is one line; the first has no value.
type Step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Custom shows the lines in a graph.
type Custom struct {
	ThresholdsStyle Style `json:"thresholdsStyle"`
}

// Style is the way in which thresholds are drawn.
type Style struct {
	Mode string `json:"mode"`
}

// Target is a query.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(dashboard()); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}
