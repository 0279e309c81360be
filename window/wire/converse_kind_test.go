package wire

import "testing"

// The SDKs of AWS decide by these names what they try again.
func TestBedrockNamesWhatItRefuses(t *testing.T) {
	for status, want := range map[int]string{
		400: "ValidationException", 401: "AccessDeniedException", 403: "AccessDeniedException", 413: "ValidationException", 421: "AccessDeniedException",
		429: "ThrottlingException", 500: "InternalServerException", 502: "InternalServerException", 503: "ServiceUnavailableException",
	} {
		if got := bedrockKind(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
