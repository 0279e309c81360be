package config

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// MemorySettings are the values of table [memory] in force.
type MemorySettings struct {
	State MemoryState `json:"state"`

	DiskMax    limit.Bytes   `json:"disk_max"`
	Age        time.Duration `json:"-"`         // of episodes
	EmbedURL   string        `json:"embed_url"` // "" for none
	EmbedModel string        `json:"embed_model"`
	EmbedKey   string        `json:"embed_key"` // name of an environment variable

	Facts        bool   `json:"facts"`
	FactsModel   string `json:"facts_model,omitempty"`    // as NAME or PROVIDER/NAME
	FactsURL     string `json:"facts_url,omitempty"`      // "" is the provider's own
	FactsKey     string `json:"facts_key,omitempty"`      // name of an environment variable
	FactsKeyFile string `json:"facts_key_file,omitempty"` // absolute
	FactsTokens  int    `json:"facts_tokens"`             // a day, UTC
}

// MemoryState is the position of the memory's one switch.
type MemoryState string

// The positions of the switch, [memory] on.
const (
	// MemoryDefault is the position that nobody chose: what a compaction cuts is kept, and nothing is added to prompts.
	MemoryDefault MemoryState = "default"
	// MemoryOn keeps every turn, adds what the user said before to prompts, and offers agents the tools.
	MemoryOn MemoryState = "on"
	// MemoryOff keeps nothing and adds nothing.
	MemoryOff MemoryState = "off"
)

// memoryKeys are the keys of [memory]. A project's file may only switch the memory off; everything else is the user's decision.
var memoryKeys = []*Key{
	{
		Name: "on", Type: TypeBool, PerTool: true, Project: ProjectStricter, example: "true",
		Doc: "true keeps every turn, adds what you said before to prompts and gives agents tools; false keeps and adds nothing; unset keeps what is cut from a full window.",
		set: func(s *Settings, v any) {
			s.Memory.State = MemoryDefault
			if on, ok := v.(bool); ok {
				s.Memory.State = MemoryOff
				if on {
					s.Memory.State = MemoryOn
				}
			}
		},
	},
	{
		Name: "disk_max", Type: TypeSize, Default: "256M", Project: ProjectNever, min: int64(limit.MiB), max: maxDisk, example: `"256M"`,
		Doc: "Disk for the whole memory; superseded, never recalled and oldest records go first.",
		set: func(s *Settings, v any) { s.Memory.DiskMax = v.(limit.Bytes) },
	},
	{
		Name: "age", Type: TypeDuration, Default: "2160h", Project: ProjectNever, min: int64(time.Hour), max: int64(10 * 365 * 24 * time.Hour), example: `"2160h"`,
		Doc: "How long passages of conversations are kept; notes, facts and pins stay.",
		set: func(s *Settings, v any) { s.Memory.Age = v.(time.Duration) },
	},
	{
		Name: "embed_url", Type: TypeURL, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc: "Base URL of an OpenAI-compatible service for embeddings, to search by meaning; records that are searched are sent there. Unset: nothing is sent.",
		set: func(s *Settings, v any) { s.Memory.EmbedURL = v.(string) },
	},
	{
		Name: "embed_model", Type: TypeText, Project: ProjectNever, example: `"nomic-embed-text"`,
		Doc: "Model of embed_url.",
		set: func(s *Settings, v any) { s.Memory.EmbedModel = v.(string) },
	},
	{
		Name: "embed_key", Type: TypeVariable, Project: ProjectNever, example: `"EMBEDDINGS_API_KEY"`,
		Doc: "Variable that holds the key for embed_url.",
		set: func(s *Settings, v any) { s.Memory.EmbedKey = v.(string) },
	},
	{
		Name: "facts", Type: TypeBool, Default: "false", Project: ProjectNever, example: "false",
		Doc: "Whether serve draws facts in the background, by facts_model.",
		set: func(s *Settings, v any) { s.Memory.Facts = v.(bool) },
	},
	{
		Name: "facts_model", Type: TypeText, Project: ProjectNever, example: `"openai/gpt-5-mini"`,
		Doc: "Model that proposes facts, as PROVIDER/NAME; behind facts_url the name alone.",
		set: func(s *Settings, v any) { s.Memory.FactsModel = v.(string) },
	},
	{
		Name: "facts_url", Type: TypeURL, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc: "Base URL of an OpenAI-compatible service for facts_model; unset is the provider's own.",
		set: func(s *Settings, v any) { s.Memory.FactsURL = v.(string) },
	},
	{
		Name: "facts_key", Type: TypeVariable, Project: ProjectNever, example: `"FACTS_API_KEY"`,
		Doc: "Variable that holds the key for facts_model; it must be its own.",
		set: func(s *Settings, v any) { s.Memory.FactsKey = v.(string) },
	},
	{
		Name: "facts_key_file", Type: TypeFile, Project: ProjectNever, example: `"/var/run/secrets/facts/key"`,
		Doc: "File that holds the key, in the place of facts_key.",
		set: func(s *Settings, v any) { s.Memory.FactsKeyFile = v.(string) },
	},
	{
		Name: "facts_tokens", Type: TypeCount, Default: "20000", Project: ProjectNever, min: 1000, max: 1 << 30, example: "20000",
		Doc: "Tokens that facts may cost in a day (UTC), over all processes and restarts.",
		set: func(s *Settings, v any) { s.Memory.FactsTokens = v.(int) },
	},
}
