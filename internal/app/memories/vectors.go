package memories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
)

// Vectors selects whether searches also go by meaning, where the user has named a service for embeddings ([memory] embed_url).
type Vectors int

const (
	// NoVectors searches by words only, and sends nothing, as `plimsoll run` does.
	NoVectors Vectors = iota
	// VectorsOnSearch makes missing vectors before each search, for a command that ends with it.
	VectorsOnSearch
	// VectorsInBackground makes them between searches, for servers.
	VectorsInBackground
)

const (
	// vectorsEvery is the interval at which servers look for new records.
	vectorsEvery = time.Minute
	// vectorsPatience is the time for which a command makes missing vectors before it searches with those that there are.
	vectorsPatience = 5 * time.Second
)

// embedClient returns a client of the service that the user has named, nil if there is none. An incomplete configuration is an error. All
// of its settings are the user's own: no project decides where texts and a key go.
func embedClient(m config.MemorySettings) (*embed.Client, error) {
	if m.EmbedURL == "" {
		return nil, nil
	}
	key := ""
	if m.EmbedKey != "" {
		if key = os.Getenv(m.EmbedKey); key == "" {
			return nil, fmt.Errorf("[memory] embed_key names the variable %s, which is empty; set it to the key of the service at embed_url", m.EmbedKey)
		}
	}
	if m.EmbedModel == "" {
		return nil, errors.New(`[memory] embed_url names a service for embeddings, but embed_model no model; set it, as in embed_model = "nomic-embed-text"`)
	}
	client, err := embed.NewClient(embed.ClientOptions{URL: m.EmbedURL, Model: m.EmbedModel, Key: key})
	if err != nil {
		return nil, fmt.Errorf("[memory] embed_url: %w", err)
	}
	return client, nil
}

// serviceWait bounds how long [AskService] waits. A local service may first have to load its model.
const serviceWait = 10 * time.Second

// AskService asks the service for embeddings for the vector of one word, and returns a sentence about the outcome; "" where the user names
// no service, or no memory is kept.
func AskService(ctx context.Context, m config.MemorySettings) string {
	if m.EmbedURL == "" || m.State == config.MemoryOff {
		return ""
	}
	const words = "the memory is searched by words only: "
	client, err := embedClient(m)
	if err != nil {
		return words + err.Error()
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	vectors, err := client.Embed(ctx, []string{"plimsoll"})
	if err != nil {
		return words + err.Error()
	}
	return fmt.Sprintf("the memory is searched by meaning too: %s makes vectors of %d dimensions at %s", client.Model(), len(vectors[0].Values), client.Address())
}

// setVectors adds the service for embeddings to the options of a store, unless v or the settings want none. If the service cannot be used, it
// warns, and searches go by words.
func (m *Memory) setVectors(o *memory.Options, s config.MemorySettings, v Vectors) {
	if v == NoVectors || s.State == config.MemoryOff {
		return
	}
	client, err := embedClient(s)
	if err != nil {
		m.core.Warn("the memory is searched by words only: " + err.Error())
		return
	}
	o.Embed = client
	if v == VectorsInBackground {
		o.EmbedEvery = vectorsEvery
	}
	m.onSearch = client != nil && v == VectorsOnSearch
}

// fillVectors makes vectors that are missing in the namespaces of a search, for at most vectorsPatience. If it comes to no end there is a
// warning; the search itself reports what fails.
func (m *Memory) fillVectors(ctx context.Context, namespaces []string) {
	if !m.onSearch {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, vectorsPatience)
	defer cancel()
	made, err := m.Store.MakeVectors(ctx, namespaces...)
	if err != nil && ctx.Err() != nil && made.Missing > 0 {
		m.core.Warn(fmt.Sprintf("%d records have no vector yet and are found by words only; each search makes more for %s, plimsoll serve and plimsoll mcp memory all", made.Missing, vectorsPatience))
	}
}

// dropVectors removes all vectors from the disk if the user names no service any more: no search would use them.
func (m *Memory) dropVectors(ctx context.Context) error {
	settings, err := m.core.Config.For("")
	if err != nil || settings.Memory.EmbedURL != "" {
		return err
	}
	return m.Store.DropVectors(ctx)
}
