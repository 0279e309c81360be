// Command cataloguer makes the table of windows that package models has inside.
//
//	cataloguer -out DIR                       DIR/catalogue.json → DIR/table.txt
//	cataloguer -from CHECKOUT -out DIR        a checkout of models.dev → both files
//	cataloguer -api FILE -out DIR             models.dev's api.json → both files
//	cataloguer -prices CHECKOUT -out DIR      a checkout of models.dev → DIR/prices.txt
//
// The first form is what go generate runs. The others refresh the kept catalogue: they
// read the providers in the list below and keep the three limits of
// each chat model. All forms write the same bytes for the same input.
//
// It runs on a developer's machine only; its test runs the first form and compares.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plimsoll/plimsoll/internal/window/models/sources"
	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

// catalogue is the content of catalogue.json.
type catalogue struct {
	Source  string `json:"source"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date"`
	Licence string `json:"licence"`
	Members string `json:"members"`
	// Providers has [context, input, output] in tokens by provider and model; 0 is unknown.
	Providers map[string]map[string][3]int `json:"providers"`
}

// An entry is a model as models.dev describes it.
type entry struct {
	Base  string `toml:"base_model" json:"-"`
	Limit struct {
		Context int `toml:"context" json:"context"`
		Input   int `toml:"input" json:"input"`
		Output  int `toml:"output" json:"output"`
	} `toml:"limit" json:"limit"`
	Modalities struct {
		Output []string `toml:"output" json:"output"`
	} `toml:"modalities" json:"modalities"`
	Cost cost `toml:"cost" json:"-"`
}

//go:embed pages.txt
var pages string

// cost holds prices of a million tokens in US dollars.
type cost struct {
	rate
	Tiers []tier `toml:"tiers"`
}

// tier holds the prices of requests with more than Size tokens of input.
type tier struct {
	rate
	Tier struct {
		Size int `toml:"size"`
	} `toml:"tier"`
}

type rate struct {
	Input      float64 `toml:"input"`
	Output     float64 `toml:"output"`
	CacheRead  float64 `toml:"cache_read"`
	CacheWrite float64 `toml:"cache_write"`
}

func (r rate) String() string {
	return fmt.Sprint(r.Input, r.Output, r.CacheRead, r.CacheWrite)
}

func main() {
	from := flag.String("from", "", "checkout of models.dev to refresh the catalogue from")
	api := flag.String("api", "", "models.dev's api.json to refresh the catalogue from")
	costs := flag.String("prices", "", "checkout of models.dev to refresh the prices from")
	out := flag.String("out", ".", "directory of catalogue.json, table.txt and prices.txt")
	flag.Parse()
	if *costs != "" {
		if err := tabulatePrices(*costs, *out); err != nil {
			fmt.Fprintln(os.Stderr, "cataloguer:", err)
			os.Exit(1)
		}
		return
	}
	if err := writeTable(*from, *api, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cataloguer:", err)
		os.Exit(1)
	}
}

// writeTable writes table.txt from catalogue.json in out. With from, a checkout of models.dev, or api, its api.json, it first writes
// catalogue.json from that.
func writeTable(from, api, out string) error {
	kept := filepath.Join(out, "catalogue.json")
	if from != "" || api != "" {
		source, read := from, gatherCheckout
		if api != "" {
			source, read = api, gatherAPI
		}
		c, err := read(source)
		if err != nil {
			return err
		}
		if err := c.addRetired(kept); err != nil {
			return err
		}
		text, err := json.MarshalIndent(c, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(kept, append(flat(text), '\n'), 0o644); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	table, err := tableOf(text)
	if err != nil {
		return fmt.Errorf("%s: %w", kept, err)
	}
	return os.WriteFile(filepath.Join(out, "table.txt"), table, 0o644)
}

// flat returns indented JSON with each list of three numbers on one line.
func flat(text []byte) []byte {
	s := string(text)
	s = strings.ReplaceAll(s, "[\n    ", "[")
	s = strings.ReplaceAll(s, ",\n    ", ", ")
	return []byte(strings.ReplaceAll(s, "\n   ]", "]"))
}

// tableOf returns table.txt for catalogue.json: one line "provider/model context input output" per model, sorted by the folded name, the
// form that binary search in package models reads.
func tableOf(text []byte) ([]byte, error) {
	var c catalogue
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if c.Date == "" || c.Licence == "" {
		return nil, errors.New("the catalogue names no date or no licence")
	}
	return []byte(strings.Join(sources.Lines(c.Providers), "\n") + "\n"), nil
}

// gatherCheckout reads the models of the providers, and those of all labs as "any", from a checkout of models.dev.
func gatherCheckout(root string) (*catalogue, error) {
	git := func(args ...string) (string, error) {
		text, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(text)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%s is not a git checkout: %w", root, err)
	}
	date, err := git("log", "-1", "--format=%cs")
	if err != nil {
		return nil, err
	}
	c := newCatalogue(commit, date)
	for ours, theirs := range sources.Providers {
		for _, name := range theirs {
			if err := c.addDirectory(ours, root, filepath.Join(root, "providers", name, "models")); err != nil {
				return nil, err
			}
		}
	}
	labs, err := os.ReadDir(filepath.Join(root, "models"))
	if err != nil {
		return nil, err
	}
	for _, lab := range labs { // what a model can do wherever it is served
		if err := c.addDirectory("any", root, filepath.Join(root, "models", lab.Name())); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func newCatalogue(commit, date string) *catalogue {
	return &catalogue{
		Source: "models.dev (github.com/anomalyco/models.dev), reduced to limits", Commit: commit, Date: date,
		Licence: "MIT, Copyright (c) 2025 models.dev", Members: "[context, input, output] in tokens; 0 is unknown",
		Providers: map[string]map[string][3]int{},
	}
}

// gatherAPI returns the catalogue in a copy of api.json.
func gatherAPI(file string) (*catalogue, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list, err := sources.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := newCatalogue("", list.Date)
	c.Providers = list.Providers
	return c, nil
}

// tabulatePrices writes prices.txt into out, the form that package models reads: what each provider asks for its own models, from a
// checkout of models.dev in root, with those of pages before them. Those that are free are left out: nobody can tell them from those
// without a price.
func tabulatePrices(root, out string) error {
	found := map[string]string{}
	for line := range strings.Lines(pages) {
		if key, prices, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key != "#" {
			found[key] = prices
		}
	}
	for ours, theirs := range sources.Providers {
		for _, name := range theirs {
			dir := filepath.Join(root, "providers", name, "models")
			err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(path) != ".toml" {
					return err
				}
				e, err := loadModel(root, path)
				if errors.Is(err, fs.ErrNotExist) || err == nil && (!e.chats() || e.Cost.Input+e.Cost.Output <= 0) {
					return nil
				}
				if err != nil {
					return err
				}
				model := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))), ".toml")
				key := ours + "/" + spelling.Fold(model)
				if found[key] != "" {
					return nil
				}
				var line strings.Builder
				line.WriteString(e.Cost.String())
				slices.SortFunc(e.Cost.Tiers, func(a, b tier) int { return a.Tier.Size - b.Tier.Size })
				for _, t := range e.Cost.Tiers {
					if t.Tier.Size > 0 {
						line.WriteString(fmt.Sprint(" ", t.Tier.Size, " ", t.rate))
					}
				}
				found[key] = line.String()
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	var lines []string
	for key, line := range found {
		lines = append(lines, key+" "+line)
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(out, "prices.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// addRetired adds the models that the older catalogue in a file has and this one does not: clients still ask for models that were retired.
// Without such a file it does nothing.
func (c *catalogue) addRetired(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var old catalogue
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for ours, models := range old.Providers {
		folded := map[string]bool{}
		for model := range c.Providers[ours] {
			folded[spelling.Fold(model)] = true
		}
		for model, limits := range models {
			if !folded[spelling.Fold(model)] {
				c.addLimits(ours, model, limits)
			}
		}
	}
	return nil
}

// chats reports whether a model answers in text and has a window.
func (e *entry) chats() bool {
	return e.Limit.Context >= 1024 && (len(e.Modalities.Output) == 0 || slices.Contains(e.Modalities.Output, "text"))
}

// limits returns the limits that the catalogue keeps. An input above the window is ignored.
func (e *entry) limits() [3]int {
	if e.Limit.Input > e.Limit.Context {
		e.Limit.Input = 0
	}
	return [3]int{e.Limit.Context, e.Limit.Input, e.Limit.Output}
}

// addLimits sets the limits of a model of the provider ours, unless it has some already.
func (c *catalogue) addLimits(ours, model string, limits [3]int) {
	if c.Providers[ours] == nil {
		c.Providers[ours] = map[string][3]int{}
	}
	if _, taken := c.Providers[ours][model]; !taken {
		c.Providers[ours][model] = limits
	}
}

// addDirectory adds the limits of all models in a directory of TOML files to the provider ours. Models that do not chat are left out.
func (c *catalogue) addDirectory(ours, root, dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".toml" {
			return err
		}
		e, err := loadModel(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to a model that was taken out
		}
		if err != nil {
			return err
		}
		if !e.chats() || strings.Contains(path, "embed") {
			return nil // images, embeddings, speech
		}
		model := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))), ".toml")
		c.addLimits(ours, model, e.limits())
		return nil
	})
}

// loadModel reads one model; members that it lacks come from its base.
func loadModel(root, path string) (entry, error) {
	var e entry
	text, err := os.ReadFile(path)
	if err == nil {
		err = toml.Unmarshal(text, &e)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	if e.Base == "" {
		return e, nil
	}
	base, err := loadModel(root, filepath.Join(root, "models", filepath.FromSlash(e.Base)+".toml"))
	if err != nil {
		return e, err
	}
	if e.Limit.Context == 0 {
		e.Limit.Context = base.Limit.Context
		if e.Limit.Input == 0 {
			e.Limit.Input = base.Limit.Input
		}
	}
	if e.Limit.Output == 0 {
		e.Limit.Output = base.Limit.Output
	}
	if len(e.Modalities.Output) == 0 {
		e.Modalities.Output = base.Modalities.Output
	}
	return e, nil
}
