// Package wireerror writes errors as JSON-RPC of A2A has them (A2A 1.0, section 5.4).
//
// An error of the SDK (sdk.ErrTaskNotFound, …), wrapped or not, has the code and the reason of the protocol; all others are internal
// errors. Details that an error carries come first, its reason with the time last.
//
// What 1.0 answers is written by the SDK; this is for 0.3, and for what the server refuses before either has a part in it.
package wireerror

import (
	"errors"
	"maps"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
)

// known are the errors of the protocol. Any other error is an internal one.
var known = []struct {
	err  error
	code int // of JSON-RPC
}{
	{sdk.ErrParseError, -32700},
	{sdk.ErrInvalidRequest, -32600},
	{sdk.ErrMethodNotFound, -32601},
	{sdk.ErrInvalidParams, -32602},
	{sdk.ErrInternalError, internal},
	{sdk.ErrServerError, -32000},
	{sdk.ErrTaskNotFound, -32001},
	{sdk.ErrTaskNotCancelable, -32002},
	{sdk.ErrPushNotificationNotSupported, -32003},
	{sdk.ErrUnsupportedOperation, -32004},
	{sdk.ErrUnsupportedContentType, -32005},
	{sdk.ErrInvalidAgentResponse, -32006},
	{sdk.ErrExtendedCardNotConfigured, -32007},
	{sdk.ErrExtensionSupportRequired, -32008},
	{sdk.ErrVersionNotSupported, -32009},
	{sdk.ErrUnauthenticated, -31401},
	{sdk.ErrUnauthorized, -31403},
}

// internal is JSON-RPC's code for an error of the server itself.
const internal = -32603

// Code returns the JSON-RPC code of an error.
func Code(err error) int {
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.code
		}
	}
	return internal
}

// Object is an error object of JSON-RPC.
type Object struct {
	Code    int                   `json:"code"`
	Message string                `json:"message"`
	Data    []*errordetails.Typed `json:"data,omitempty"`
}

// RPC returns the JSON-RPC error object for an error.
func RPC(err error) *Object {
	reason := sdk.ErrInternalError
	for _, k := range known {
		if errors.Is(err, k.err) {
			reason = k.err
			break
		}
	}
	return &Object{Code: Code(err), Message: err.Error(), Data: details(err, reason)}
}

// details returns the details of an error for clients: its own, and last reason with the time and the metadata of the error.
func details(err, reason error) []*errordetails.Typed {
	var list []*errordetails.Typed
	metadata := map[string]string{"timestamp": time.Now().UTC().Format(time.RFC3339)}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		if len(e.Details) > 0 {
			list = append(list, errordetails.NewFromStruct(e.Details))
		}
		for _, d := range e.TypedDetails {
			if d.TypeURL != errordetails.ErrorInfoType {
				list = append(list, d)
				continue
			}
			switch m := d.Value["metadata"].(type) {
			case map[string]string:
				maps.Copy(metadata, m)
			case map[string]any:
				for name, value := range m {
					if s, ok := value.(string); ok {
						metadata[name] = s
					}
				}
			}
		}
	}
	return append(list, errordetails.NewErrorInfo(sdk.ErrorReason(reason), sdk.ProtocolDomain, metadata))
}
