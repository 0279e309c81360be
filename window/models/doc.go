// Package models knows how many tokens a model takes: by provider and model from a
// catalogue, by override, and by what a provider's refusals teach at run time.
//
//	x := models.NewResolver(models.Options{Dir: stateDir, Overrides: overrides})
//	w := x.Window("anthropic", "claude-sonnet-4-5-20250929", betas)
//	room := w.ForInput(reserve) // what the input may have
//	…
//	x.Learn("anthropic", model, betas, 200_000, true) // a refusal named it
//	x.Accepted("anthropic", model, betas, usage)      // and this much went through
//
// [Lookup] is the catalogue alone. It is the file catalogue.json, reduced from models.dev
// (MIT licence, Copyright (c) 2025 models.dev) as of [CatalogueDate]; the three limits are
// kept of each chat model of 29 providers, and of each model under "any" what it takes
// wherever it is served. "go generate" makes table.txt of it, which is compiled in as it
// stands and searched by bisection: nothing is built when the program starts.
//
// Names are taken as clients write them: letter case and punctuation don't matter; prefixes
// of routers ("openai/", "models/", "accounts/fireworks/models/"), Bedrock's regions,
// vendors, versions and ARNs ("us.anthropic.claude-…-v1:0"), Vertex paths and dates
// ("@20250929"), dates, "-latest" and "-preview" are taken off as far as needed. An Azure
// deployment is known when it is called after its model. What is only known under "any"
// is a guess. A "[1m]" suffix or the beta header
// context-1m gives those Claude models a million tokens that need it. A name without an entry gets, as a
// guess, the window of the newest known member of its family that is not newer, and never less.
// An alias ("-latest") may have moved to a dated member of its family that takes more: then that
// one's window is the guess.
//
// [Resolver.Window] goes by: the override for the model, for the provider and for all, what was
// learned, what a server was asked, the provider's own list of models ([Resolver.Tell]), what the user has refreshed ([Refresh]), the catalogue, the provider's default, [DefaultContext]. An override above a
// learned limit yields to that: the provider has the last word. [FromEnviron] reads
// overrides from the environment for programs that have no configuration of their own.
//
// What is learned outlives the process: one file per upstream (0600, atomically replaced,
// merged under a lock, so that several processes lose nothing), at most [MaxModels] models
// in each. A damaged file is set aside and said once; a file of a newer version is left
// alone. A limit is believed only when it is plausible, see [Resolver.Learn].
//
// The tests hold the table against the kept catalogue, the files against several writers,
// damage and newer versions, and names against fuzzing.
//
// A Resolver may be used from many goroutines; everything else is pure.
package models
