package a2a03

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/wireerror"
)

type rpcRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     any             `json:"id"`
}

type rpcAnswer struct {
	Version string            `json:"jsonrpc"`
	ID      any               `json:"id"`
	Result  any               `json:"result,omitempty"`
	Error   *wireerror.Object `json:"error,omitempty"`
}

// RPC returns a handler that serves JSON-RPC of A2A 0.3. The caller has checked the envelope of each request.
func RPC(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req rpcRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			writeRPC(w, rpcAnswer{Error: wireerror.RPC(parseError(err))})
			return
		}
		failed := func(err error) rpcAnswer { return rpcAnswer{ID: req.ID, Error: wireerror.RPC(err)} }
		if events := o.openStream(r.Context(), &req); events != nil {
			encode := func(a rpcAnswer) ([]byte, error) {
				a.Version = "2.0"
				return json.Marshal(a)
			}
			o.stream(w, r, events,
				func(event any) ([]byte, error) { return encode(rpcAnswer{ID: req.ID, Result: event}) },
				func(err error) []byte {
					text, _ := encode(failed(err)) // an error is always JSON
					return text
				})
			return
		}
		answer := rpcAnswer{ID: req.ID}
		if err := o.recoverPanic(func() (err error) {
			answer.Result, err = o.call(r.Context(), &req)
			return err
		}); err != nil {
			answer = failed(err)
		}
		writeRPC(w, answer)
	})
}

func writeRPC(w http.ResponseWriter, a rpcAnswer) {
	a.Version = "2.0"
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // a client that is gone needs no answer
}

// openStream calls a method that streams and returns its events; nil for any other method. Invalid parameters are an error in the stream.
func (o *Options) openStream(ctx context.Context, req *rpcRequest) iter.Seq2[sdk.Event, error] {
	refused := func(err error) iter.Seq2[sdk.Event, error] {
		return func(yield func(sdk.Event, error) bool) { yield(nil, parseError(err)) }
	}
	switch req.Method {
	case "message/stream":
		var p sendParams
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return refused(err)
		}
		return o.Handler.SendStreamingMessage(ctx, p.modern())
	case "tasks/resubscribe":
		var p taskParams
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return refused(err)
		}
		return o.Handler.SubscribeToTask(ctx, &sdk.SubscribeToTaskRequest{ID: p.ID})
	}
	return nil
}

// call calls a method that does not stream, and returns its result in the form of 0.3.
func (o *Options) call(ctx context.Context, req *rpcRequest) (any, error) {
	read := func(v any) error {
		if err := json.Unmarshal(req.Params, v); err != nil {
			return parseError(err)
		}
		return nil
	}
	h := o.Handler
	switch req.Method {
	case "message/send":
		var p sendParams
		if err := read(&p); err != nil {
			return nil, err
		}
		result, err := h.SendMessage(ctx, p.modern())
		if err != nil {
			return nil, err
		}
		return oldEvent(result), nil
	case "agent/getAuthenticatedExtendedCard":
		card, err := h.GetExtendedAgentCard(ctx, &sdk.GetExtendedAgentCardRequest{})
		if err != nil {
			return nil, err
		}
		return oldCard(card), nil
	case "tasks/pushNotificationConfig/set":
		var p taskPushConfig
		if err := read(&p); err != nil {
			return nil, err
		}
		c, err := h.CreateTaskPushConfig(ctx, p.modern())
		return oldPushConfig(c), err
	case "tasks/get", "tasks/cancel", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list", "tasks/pushNotificationConfig/delete":
		var p taskParams
		if err := read(&p); err != nil {
			return nil, err
		}
		return o.callTaskMethod(ctx, req.Method, &p)
	}
	return nil, sdk.ErrMethodNotFound
}

// callTaskMethod calls a method about one task, and returns its result in the form of 0.3.
func (o *Options) callTaskMethod(ctx context.Context, method string, p *taskParams) (any, error) {
	h := o.Handler
	switch method {
	case "tasks/get":
		t, err := h.GetTask(ctx, &sdk.GetTaskRequest{ID: p.ID, HistoryLength: p.HistoryLength})
		return oldTask(t), err
	case "tasks/cancel":
		t, err := h.CancelTask(ctx, &sdk.CancelTaskRequest{ID: p.ID, Metadata: p.Metadata})
		return oldTask(t), err
	case "tasks/pushNotificationConfig/get":
		c, err := h.GetTaskPushConfig(ctx, &sdk.GetTaskPushConfigRequest{TaskID: p.ID, ID: p.ConfigID})
		return oldPushConfig(c), err
	case "tasks/pushNotificationConfig/list":
		list, err := h.ListTaskPushConfigs(ctx, &sdk.ListTaskPushConfigRequest{TaskID: p.ID})
		if err != nil {
			return nil, err
		}
		return oldPushConfigs(list.Configs), nil
	default:
		return nil, h.DeleteTaskPushConfig(ctx, &sdk.DeleteTaskPushConfigRequest{TaskID: p.ID, ID: p.ConfigID})
	}
}
