package scripted

import (
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// models answers model lists and single models in the form of the path's provider.
func (p *Provider) models(w http.ResponseWriter, r *http.Request) {
	path := route(r)
	_, one, single := strings.Cut(strings.TrimSuffix(r.URL.Path, "/"), "/models/")
	ids := p.o.Models
	if single {
		ids = []string{one}
	}
	list := []any{}
	for _, id := range ids {
		switch path.dialect {
		case wire.Gemini:
			v := m{"name": "models/" + strings.TrimPrefix(id, "models/"), "displayName": id, "supportedGenerationMethods": []string{"generateContent", "countTokens"}}
			if p.o.Window > 0 {
				v["inputTokenLimit"], v["outputTokenLimit"] = p.o.Window, 8192
			}
			list = append(list, v)
		case wire.Messages:
			v := m{"type": "model", "id": id, "display_name": id, "created_at": "2026-01-02T03:04:05Z"}
			if p.o.Reasoning != nil {
				v["capabilities"] = m{"compaction": m{"supported": p.rule(id).Compacts && !p.o.Bedrock}}
			}
			if p.o.Window > 0 {
				v["max_input_tokens"] = p.o.Window
			}
			list = append(list, v)
		default:
			list = append(list, m{"id": id, "object": "model", "created": created, "owned_by": "scripted"})
		}
	}
	switch {
	case single:
		writeJSON(w, http.StatusOK, list[0])
	case path.dialect == wire.Gemini:
		writeJSON(w, http.StatusOK, m{"models": list})
	case path.dialect == wire.Messages:
		writeJSON(w, http.StatusOK, m{"data": list, "has_more": false, "first_id": ids[0], "last_id": ids[len(ids)-1]})
	default:
		writeJSON(w, http.StatusOK, m{"object": "list", "data": list, "models": []any{}})
	}
}
