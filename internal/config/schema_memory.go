package config

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// MemorySettings are the values of table [memory] in force.
type MemorySettings struct {
	Enabled bool   `json:"enabled"`
	Capture string `json:"capture"` // "turns", "cuts" or "off"
	Inject  string `json:"inject"`  // "off", "start" or "recall"
	Tools   bool   `json:"tools"`

	DiskMax      limit.Bytes   `json:"disk_max"`
	NamespaceMax limit.Bytes   `json:"namespace_max"`
	Records      int           `json:"records"` // of one namespace
	Age          time.Duration `json:"-"`       // of episodes
	QueueMax     limit.Bytes   `json:"queue_max"`
	EmbedURL     string        `json:"embed_url"` // "" for none
	EmbedModel   string        `json:"embed_model"`
	EmbedKey     string        `json:"embed_key"` // name of an environment variable
	VectorsMax   limit.Bytes   `json:"vectors_max"`
	RecallItems  int           `json:"recall_items"`
	RecallTokens int           `json:"recall_tokens"`

	Facts        bool          `json:"facts"`
	FactsModel   string        `json:"facts_model,omitempty"`    // as NAME or PROVIDER/NAME
	FactsURL     string        `json:"facts_url,omitempty"`      // "" is the provider's own
	FactsKey     string        `json:"facts_key,omitempty"`      // name of an environment variable
	FactsKeyFile string        `json:"facts_key_file,omitempty"` // absolute
	FactsTokens  int           `json:"facts_tokens"`             // a day, UTC
	FactsTimeout time.Duration `json:"-"`                        // of one request
}

// The values of [memory] capture and inject.
const (
	CaptureTurns = "turns"
	CaptureCuts  = "cuts"
	CaptureOff   = "off"

	InjectOff    = "off"
	InjectStart  = "start"
	InjectRecall = "recall"
)

// memoryKeys are the keys of [memory]. A project's file may only reduce what is kept of its conversations; everything else is the user's
// decision.
var memoryKeys = []*Key{
	{
		Name: "enabled", Type: TypeBool, Default: "true", PerTool: true, Project: ProjectNever, example: "true",
		Doc: "Whether anything is kept in the memory, or taken out of it, at all.",
		set: func(s *Settings, v any) { s.Memory.Enabled = v.(bool) },
	},
	{
		Name: "capture", Type: TypeChoice, Default: CaptureCuts, Choices: []string{CaptureTurns, CaptureCuts, CaptureOff}, PerTool: true, Project: ProjectStricter,
		Doc: "What is kept of conversations, on this machine and without secrets: every turn, what a compaction cut, or nothing. Plimsoll's own agents keep turns unless it is set. Where store of [window] is off nothing is kept.",
		set: func(s *Settings, v any) { s.Memory.Capture = v.(string) },
	},
	{
		Name: "inject", Type: TypeChoice, Default: InjectOff, Choices: []string{InjectRecall, InjectStart, InjectOff}, PerTool: true, Project: ProjectNever,
		Doc: "What is added to a prompt of yours behind your own words: nothing, so that requests stay as they are to the byte; at the start of a conversation what you pinned; or with each prompt also what you said about it before.",
		set: func(s *Settings, v any) { s.Memory.Inject = v.(string) },
	},
	{
		Name: "tools", Type: TypeBool, Default: "false", PerTool: true, Project: ProjectNever, example: "false",
		Doc: "Whether run offers the memory to the tool as an MCP server.",
		set: func(s *Settings, v any) { s.Memory.Tools = v.(bool) },
	},
	{
		Name: "disk_max", Type: TypeSize, Default: "256M", Project: ProjectNever, min: int64(limit.MiB), max: maxDisk, example: `"256M"`,
		Doc: "Disk that the whole memory may take; what is superseded, was never recalled and is oldest goes first.",
		set: func(s *Settings, v any) { s.Memory.DiskMax = v.(limit.Bytes) },
	},
	{
		Name: "namespace_max", Type: TypeSize, Default: "64M", Project: ProjectNever, min: int64(limit.MiB), max: maxDisk, example: `"64M"`,
		Doc: "Disk that the memory of one project may take.",
		set: func(s *Settings, v any) { s.Memory.NamespaceMax = v.(limit.Bytes) },
	},
	{
		Name: "records", Type: TypeCount, Default: "100000", Project: ProjectNever, min: 100, max: 1 << 24, example: "100000",
		Doc: "Records that the memory of one project may have.",
		set: func(s *Settings, v any) { s.Memory.Records = v.(int) },
	},
	{
		Name: "age", Type: TypeDuration, Default: "2160h", Project: ProjectNever, min: int64(time.Hour), max: int64(10 * 365 * 24 * time.Hour), example: `"2160h"`,
		Doc: "How long a passage of a conversation is kept; notes, facts and what is pinned stay.",
		set: func(s *Settings, v any) { s.Memory.Age = v.(time.Duration) },
	},
	{
		Name: "queue_max", Type: TypeSize, Default: "8M", Project: ProjectNever, min: int64(limit.MiB), max: int64(limit.GiB), example: `"8M"`,
		Doc: "Memory of what waits to be kept; what does not fit is dropped and counted, and no request waits.",
		set: func(s *Settings, v any) { s.Memory.QueueMax = v.(limit.Bytes) },
	},
	{
		Name: "embed_url", Type: TypeURL, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc: "Base URL of an OpenAI-compatible service for embeddings. With it searches also find what means the same in other words, and what is remembered in the namespaces that are searched is sent there. Not set: searches go by words, and nothing is sent.",
		set: func(s *Settings, v any) { s.Memory.EmbedURL = v.(string) },
	},
	{
		Name: "embed_model", Type: TypeText, Project: ProjectNever, example: `"nomic-embed-text"`,
		Doc: "Model of embed_url.",
		set: func(s *Settings, v any) { s.Memory.EmbedModel = v.(string) },
	},
	{
		Name: "embed_key", Type: TypeVariable, Project: ProjectNever, example: `"EMBEDDINGS_API_KEY"`,
		Doc: "Name of the environment variable that holds the key for embed_url. No other key is ever sent there.",
		set: func(s *Settings, v any) { s.Memory.EmbedKey = v.(string) },
	},
	{
		Name: "vectors_max", Type: TypeSize, Default: "128M", Project: ProjectNever, min: int64(limit.MiB), max: maxDisk, example: `"128M"`,
		Doc: "Disk that the vectors of embed_model may take, beside disk_max; one project has at most half of it. Those of the oldest records go first.",
		set: func(s *Settings, v any) { s.Memory.VectorsMax = v.(limit.Bytes) },
	},
	{
		Name: "recall_items", Type: TypeCount, Default: "8", PerTool: true, Project: ProjectNever, min: 1, max: 100, example: "8",
		Doc: "Items that are added to one prompt.",
		set: func(s *Settings, v any) { s.Memory.RecallItems = v.(int) },
	},
	{
		Name: "recall_tokens", Type: TypeCount, Default: "1000", PerTool: true, Project: ProjectNever, min: 50, max: 20_000, example: "1000",
		Doc: "Tokens that what is added to one prompt may take.",
		set: func(s *Settings, v any) { s.Memory.RecallTokens = v.(int) },
	},
	{
		Name: "facts", Type: TypeBool, Default: "false", Project: ProjectNever, example: "false",
		Doc: "Whether serve draws facts from what was said, in the background, by facts_model.",
		set: func(s *Settings, v any) { s.Memory.Facts = v.(bool) },
	},
	{
		Name: "facts_model", Type: TypeText, Project: ProjectNever, example: `"openai/gpt-5-mini"`,
		Doc: "Model that proposes facts, as PROVIDER/NAME; behind facts_url the name alone.",
		set: func(s *Settings, v any) { s.Memory.FactsModel = v.(string) },
	},
	{
		Name: "facts_url", Type: TypeURL, Project: ProjectNever, example: `"http://127.0.0.1:11434/v1"`,
		Doc: "Base URL of an OpenAI-compatible service for facts_model; empty is the provider's own address.",
		set: func(s *Settings, v any) { s.Memory.FactsURL = v.(string) },
	},
	{
		Name: "facts_key", Type: TypeVariable, Project: ProjectNever, example: `"FACTS_API_KEY"`,
		Doc: "Name of the environment variable that holds the key for facts_model. No key of an agent or a client is ever used for it.",
		set: func(s *Settings, v any) { s.Memory.FactsKey = v.(string) },
	},
	{
		Name: "facts_key_file", Type: TypeFile, Project: ProjectNever, example: `"/var/run/secrets/facts/key"`,
		Doc: "File that holds the key for facts_model, in the place of facts_key.",
		set: func(s *Settings, v any) { s.Memory.FactsKeyFile = v.(string) },
	},
	{
		Name: "facts_tokens", Type: TypeCount, Default: "20000", Project: ProjectNever, min: 1000, max: 1 << 30, example: "20000",
		Doc: "Tokens that facts may cost in a day (UTC), over all processes and restarts.",
		set: func(s *Settings, v any) { s.Memory.FactsTokens = v.(int) },
	},
	{
		Name: "facts_timeout", Type: TypeDuration, Default: "1m", Project: ProjectNever, min: int64(time.Second), max: int64(time.Hour), example: `"1m"`,
		Doc: "How long one request for facts may take.",
		set: func(s *Settings, v any) { s.Memory.FactsTimeout = v.(time.Duration) },
	},
}
