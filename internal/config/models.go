package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// modelsTable is the name of the table [models."NAME"].
const modelsTable = "models"

// maxModelName bounds the name of a model in bytes; those of gateways have paths in them.
const maxModelName = 200

// ModelLimits are the limits in [models."NAME"], in tokens; 0 is unset.
type ModelLimits struct {
	Name    string `json:"name"`
	Context int    `json:"context,omitempty"`
	Output  int    `json:"output,omitempty"`
	Source  Source `json:"source"`
	ModelPrices
}

// ModelPrices are prices of a million tokens in US dollars; 0 is unset.
type ModelPrices struct {
	Input  float64 `json:"input_price,omitempty"`
	Cached float64 `json:"cached_price,omitempty"` // of input that a cache of the provider had
	Output float64 `json:"output_price,omitempty"`
}

// modelKeys are the keys of [models."NAME"].
var modelKeys = []*Key{
	{
		Name: "context", Type: TypeCount, Project: ProjectNever, min: minTokens, max: maxTokens, example: "1000000",
		Doc:      "Context window in tokens, at every provider; only a provider's refusal counts more.",
		setModel: func(m *ModelLimits, v any) { m.Context = v.(int) },
	},
	{
		Name: "output", Type: TypeCount, Project: ProjectNever, min: 1, max: maxTokens, example: "64000",
		Doc:      "Most tokens of one answer.",
		setModel: func(m *ModelLimits, v any) { m.Output = v.(int) },
	},
	{
		Name: "input_price", Type: TypeNumber, Project: ProjectNever, max: maxPrice, example: "3.0",
		Doc:      "Price of a million tokens of input in US dollars, where the built-in one is not yours.",
		setModel: func(m *ModelLimits, v any) { m.ModelPrices.Input = v.(float64) },
	},
	{
		Name: "cached_price", Type: TypeNumber, Project: ProjectNever, max: maxPrice, example: "0.3",
		Doc:      "Price of a million tokens of input that the provider's cache had; unset is input_price.",
		setModel: func(m *ModelLimits, v any) { m.Cached = v.(float64) },
	},
	{
		Name: "output_price", Type: TypeNumber, Project: ProjectNever, max: maxPrice, example: "15.0",
		Doc:      "Price of a million tokens of output.",
		setModel: func(m *ModelLimits, v any) { m.ModelPrices.Output = v.(float64) },
	},
}

// maxPrice bounds a price, in hundredths.
const maxPrice = 100 * 1_000_000

func init() {
	for _, k := range modelKeys {
		k.Table = modelsTable
	}
}

// readModel reads a value of [models."NAME"]; path is its dotted key. Mistakes are added to the problems.
func (r *reader) readModel(path []string, w written, src Source) {
	if len(path) == 2 {
		r.problem(src, path, describe(w)+", not a table", `write [models."`+clip(path[1])+`"] and context below it`)
		return
	}
	name, key := path[1], path[2]
	if name == "" || len(name) > maxModelName || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.problem(src, path[:2], quote(name)+" is not the name of a model", fmt.Sprintf(`write it as requests do, in quotes, at most %d bytes: [models."gpt-5.2"]`, maxModelName))
		return
	}
	i := slices.IndexFunc(modelKeys, func(k *Key) bool { return k.Name == key })
	switch {
	case i < 0:
		fix := "write context, output or a price"
		if len(path) > 3 || strings.Contains(key, ".") {
			fix = `a name with dots stands in quotes: [models."gpt-5.2"]`
		}
		r.problem(src, path, "unknown key", fix)
	case len(path) > 3:
		r.problem(src, path, "is not a table", "write "+modelKeys[i].Name+" = "+modelKeys[i].example)
	default:
		k := modelKeys[i]
		r.addEntry(address{key: k.ID(), model: foldModel(name)}, path, k, Alias{Name: k.Name}, name, w, src)
	}
}

// foldModel returns the form of a model's name that is compared: in lower case.
func foldModel(name string) string { return strings.ToLower(name) }

// Models returns the limits and prices of [models], sorted by name.
func (l *Loaded) Models() []ModelLimits {
	found := map[string]*ModelLimits{}
	for _, o := range origins {
		for at, e := range l.byOrigin[o.rank()] {
			if at.model != "" && found[at.model] == nil {
				found[at.model] = &ModelLimits{Name: e.tool, Source: e.src}
			}
		}
	}
	var out []ModelLimits
	for folded, m := range found {
		for _, k := range modelKeys {
			for _, c := range l.appendCandidates(nil, k, []address{{key: k.ID(), model: folded}}) {
				if c.ignored == "" {
					k.setModel(m, c.value)
				}
			}
		}
		if m.Context > 0 || m.Output > 0 || m.ModelPrices != (ModelPrices{}) { // a project's file alone says nothing
			out = append(out, *m)
		}
	}
	sorting.By(out, func(a, b ModelLimits) int { return strings.Compare(a.Name, b.Name) })
	return out
}
