package config

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// WatchSettings are the values of table [watch] in force.
type WatchSettings struct {
	Runs      bool          `json:"runs"`
	RunsAge   time.Duration `json:"-"`
	RunsCount int           `json:"runs_count"`
	RunsMax   limit.Bytes   `json:"runs_max"`
	// Notify says how notices are given; nil gives none.
	Notify NoticeWay `json:"notify"`
	// OTLP is the address of an OpenTelemetry collector, "" for none.
	OTLP string `json:"otlp"`
}

// watchKeys are those of [watch]. No project may set them: what is kept of runs is this user's.
var watchKeys = []*Key{
	{
		Name: "runs", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc: "Whether what happens in runs is kept, for plimsoll runs, top and the dashboard; command lines and texts without what looks like a secret.",
		set: func(s *Settings, v any) { s.Watch.Runs = v.(bool) },
	},
	{
		Name: "runs_age", Type: TypeDuration, Default: "720h", Project: ProjectNever, min: int64(time.Hour), max: int64(10 * 365 * 24 * time.Hour), example: `"720h"`,
		Doc: "How long a run is kept after its end.",
		set: func(s *Settings, v any) { s.Watch.RunsAge = v.(time.Duration) },
	},
	{
		Name: "runs_count", Type: TypeCount, Default: "10000", Project: ProjectNever, min: 1, max: 1 << 20, example: "10000",
		Doc: "How many runs are kept; the oldest go first.",
		set: func(s *Settings, v any) { s.Watch.RunsCount = v.(int) },
	},
	{
		Name: "runs_max", Type: TypeSize, Default: "256M", Project: ProjectNever, min: int64(8 * limit.MiB), max: maxDisk, example: `"256M"`,
		Doc: "How much the files of ended runs may take together.",
		set: func(s *Settings, v any) { s.Watch.RunsMax = v.(limit.Bytes) },
	},
	{
		Name: "notify", Type: TypeNotify, Default: "off", Project: ProjectNever, example: `"desktop"`,
		Doc: "How you are told that a run was killed, refused, or got its turn after a minute or more: on the desktop, by a POST of JSON to a URL, or by a command, which gets JSON on standard input.",
		set: func(s *Settings, v any) { s.Watch.Notify = v.(NoticeWay) },
	},
	{
		Name: "otlp", Type: TypeCollector, Project: ProjectNever, example: `"http://127.0.0.1:4318"`,
		Doc: "OpenTelemetry collector that serve and watch send traces of runs to, by OTLP over HTTP; empty sends none. No OTEL_ variable sets it.",
		set: func(s *Settings, v any) { s.Watch.OTLP = v.(string) },
	},
}
