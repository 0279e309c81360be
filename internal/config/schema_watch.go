package config

// WatchSettings are the values of table [watch] in force.
type WatchSettings struct {
	Runs bool `json:"runs"`
	// Notify is the way in which notices are given; nil gives none.
	Notify NoticeWay `json:"notify"`
	// OTLP is the address of an OpenTelemetry collector, "" for none.
	OTLP string `json:"otlp"`
}

// watchKeys are the keys of [watch]. A project's file sets none of them: what is kept of runs is the user's decision.
var watchKeys = []*Key{
	{
		Name: "runs", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc: "Whether events of runs are kept, for plimsoll runs, top and the dashboard; what looks like a secret is left out.",
		set: func(s *Settings, v any) { s.Watch.Runs = v.(bool) },
	},
	{
		Name: "notify", Type: TypeNotify, Default: "off", Project: ProjectNever, example: `"desktop"`,
		Doc: "How you are told that a run was killed, refused, or got its turn after a minute or more: on the desktop, by a POST of JSON, or by a command with JSON on standard input.",
		set: func(s *Settings, v any) { s.Watch.Notify = v.(NoticeWay) },
	},
	{
		Name: "otlp", Type: TypeCollector, Project: ProjectNever, example: `"http://127.0.0.1:4318"`,
		Doc: "OpenTelemetry collector for traces of runs, from serve and watch, by OTLP over HTTP; empty sends none.",
		set: func(s *Settings, v any) { s.Watch.OTLP = v.(string) },
	},
}
