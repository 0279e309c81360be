package a2a03

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent/a2a/internal/wireerror"
)

// REST serves the binding of HTTP and JSON, at the paths that 1.0 has, with the names of all members in snake case.
func REST(o Options) http.Handler {
	mux := http.NewServeMux()
	// serve gives what a call gives, or its error. A result of nil has no body.
	serve := func(pattern string, call func(r *http.Request, id sdk.TaskID) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			id := sdk.TaskID(r.PathValue("id"))
			var result any
			err := o.guarded(func() (err error) {
				result, err = call(r, id)
				return err
			})
			switch {
			case err != nil:
				refuse(w, err, id)
			case result != nil:
				text, err := snake(result)
				if err != nil {
					refuse(w, err, id)
					return
				}
				_, _ = w.Write(text) // a client that is gone needs no answer
			}
		})
	}
	h := o.Handler
	serve("POST /message:send", func(r *http.Request, _ sdk.TaskID) (any, error) {
		var p sendParams
		if err := readSnake(r, &p); err != nil {
			return nil, err
		}
		result, err := h.SendMessage(r.Context(), p.modern())
		if err != nil {
			return nil, err
		}
		return oldEvent(result), nil
	})
	serve("GET /tasks/{id}", func(r *http.Request, id sdk.TaskID) (any, error) {
		query := listQuery{values: r.URL.Query()}
		length := query.number("historyLength")
		if query.bad {
			return nil, sdk.ErrInvalidRequest
		}
		t, err := h.GetTask(r.Context(), &sdk.GetTaskRequest{ID: id, HistoryLength: length})
		return orNothing(oldTask(t), err)
	})
	serve("GET /tasks", o.list)
	serve("GET /extendedAgentCard", func(r *http.Request, _ sdk.TaskID) (any, error) {
		card, err := h.GetExtendedAgentCard(r.Context(), &sdk.GetExtendedAgentCardRequest{})
		if err != nil {
			return nil, err
		}
		return oldCard(card), nil
	})
	serve("POST /tasks/{id}/pushNotificationConfigs", func(r *http.Request, id sdk.TaskID) (any, error) {
		var p pushConfig
		if err := readSnake(r, &p); err != nil {
			return nil, err
		}
		c, err := h.CreateTaskPushConfig(r.Context(), (&taskPushConfig{Config: p, TaskID: id}).modern())
		return orNothing(oldPushConfig(c), err)
	})
	serve("GET /tasks/{id}/pushNotificationConfigs", func(r *http.Request, id sdk.TaskID) (any, error) {
		list, err := h.ListTaskPushConfigs(r.Context(), &sdk.ListTaskPushConfigRequest{TaskID: id})
		if err != nil {
			return nil, err
		}
		return append([]*taskPushConfig{}, oldPushConfigs(list.Configs)...), nil
	})
	serve("GET /tasks/{id}/pushNotificationConfigs/{config}", func(r *http.Request, id sdk.TaskID) (any, error) {
		c, err := h.GetTaskPushConfig(r.Context(), &sdk.GetTaskPushConfigRequest{TaskID: id, ID: r.PathValue("config")})
		return orNothing(oldPushConfig(c), err)
	})
	serve("DELETE /tasks/{id}/pushNotificationConfigs/{config}", func(r *http.Request, id sdk.TaskID) (any, error) {
		return nil, h.DeleteTaskPushConfig(r.Context(), &sdk.DeleteTaskPushConfigRequest{TaskID: id, ID: r.PathValue("config")})
	})
	fail := func(err error) []byte {
		text, _ := json.Marshal(wireerror.REST(err, "")) // an error is always JSON
		return text
	}
	mux.HandleFunc("POST /message:stream", func(w http.ResponseWriter, r *http.Request) {
		var p sendParams
		if err := readSnake(r, &p); err != nil {
			refuse(w, err, "")
			return
		}
		o.stream(w, r, h.SendStreamingMessage(r.Context(), p.modern()), snake, fail)
	})
	mux.HandleFunc("POST /tasks/{action}", func(w http.ResponseWriter, r *http.Request) {
		action := r.PathValue("action")
		if id, ok := strings.CutSuffix(action, ":subscribe"); ok {
			o.stream(w, r, h.SubscribeToTask(r.Context(), &sdk.SubscribeToTaskRequest{ID: sdk.TaskID(id)}), snake, fail)
			return
		}
		id, ok := strings.CutSuffix(action, ":cancel")
		if !ok {
			refuse(w, sdk.ErrInvalidRequest, "")
			return
		}
		var t *sdk.Task
		err := o.guarded(func() (err error) {
			t, err = h.CancelTask(r.Context(), &sdk.CancelTaskRequest{ID: sdk.TaskID(id)})
			return err
		})
		if err != nil {
			refuse(w, err, sdk.TaskID(id))
			return
		}
		if text, err := snake(oldTask(t)); err == nil {
			_, _ = w.Write(text)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
	})
}

// orNothing keeps a nil pointer from becoming a result.
func orNothing[T any](result *T, err error) (any, error) {
	if err != nil || result == nil {
		return nil, err
	}
	return result, nil
}

// list tells the tasks that fit.
func (o *Options) list(r *http.Request, _ sdk.TaskID) (any, error) {
	query := listQuery{values: r.URL.Query()}
	req := &sdk.ListTasksRequest{
		ContextID: r.URL.Query().Get("contextId"), Status: stateOf(r.URL.Query().Get("status")), PageToken: r.URL.Query().Get("pageToken"),
		HistoryLength: query.number("historyLength"),
	}
	if n := query.number("pageSize"); n != nil {
		req.PageSize = *n
	}
	if req.HistoryLength == nil {
		req.HistoryLength = new(int) // 0.3 tells none of it unless it is asked for
	}
	if text := r.URL.Query().Get("includeArtifacts"); text != "" {
		yes, err := strconv.ParseBool(text)
		req.IncludeArtifacts, query.bad = yes, query.bad || err != nil
	}
	if text := r.URL.Query().Get("lastUpdatedAfter"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		req.StatusTimestampAfter, query.bad = &at, query.bad || err != nil
	}
	if query.bad {
		return nil, sdk.ErrInvalidRequest
	}
	page, err := o.Handler.ListTasks(r.Context(), req)
	if err != nil {
		return nil, err
	}
	out := &taskList{TotalSize: page.TotalSize, PageSize: page.PageSize, NextPageToken: page.NextPageToken}
	for _, t := range page.Tasks {
		out.Tasks = append(out.Tasks, oldTask(t))
	}
	return out, nil
}

// listQuery reads numbers of a query and remembers that one was none.
type listQuery struct {
	values map[string][]string
	bad    bool
}

func (q *listQuery) number(name string) *int {
	if len(q.values[name]) == 0 || q.values[name][0] == "" {
		return nil
	}
	n, err := strconv.Atoi(q.values[name][0])
	if err != nil {
		q.bad = true
		return nil
	}
	return &n
}

func refuse(w http.ResponseWriter, err error, id sdk.TaskID) {
	status := wireerror.REST(err, id)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status.Error.Code)
	_ = json.NewEncoder(w).Encode(status) // a client that is gone needs no answer
}

// readSnake reads a body whose members have names in snake case.
func readSnake(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = renamed(body, camelCase)
	}
	if err != nil || json.Unmarshal(body, v) != nil {
		return sdk.ErrParseError
	}
	return nil
}

// snake writes v with names in snake case.
func snake(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return renamed(body, snakeCase)
}

// renamed gives all members other names, those of metadata too, as the SDKs of 0.3 do.
func renamed(body []byte, name func(string) string) ([]byte, error) {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := make(map[string]any, len(v))
			for key, value := range v {
				out[name(key)] = walk(value)
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	return json.Marshal(walk(v))
}

// snakeCase makes message_id of messageId, and url_field of URLField.
func snakeCase(s string) string {
	runes := []rune(s)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before, lowerNext := runes[i-1], i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || unicode.IsUpper(before) && lowerNext {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// camelCase makes messageId of message_id.
func camelCase(s string) string {
	words := strings.Split(s, "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
