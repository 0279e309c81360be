package argocd

// ErrorKind is what went wrong, as far as it matters to what the user does next.
type ErrorKind string

// The kinds of errors.
const (
	Unreachable     ErrorKind = "unreachable"
	TLS             ErrorKind = "tls"
	NotArgoCD       ErrorKind = "not Argo CD"
	Unauthenticated ErrorKind = "unauthenticated"
	Forbidden       ErrorKind = "forbidden"
	Missing         ErrorKind = "missing"
	Invalid         ErrorKind = "invalid"
	Conflict        ErrorKind = "conflict"
	TooLarge        ErrorKind = "too large"
	Broken          ErrorKind = "broken"
	Timeout         ErrorKind = "timeout"
	Server          ErrorKind = "server"
)

// Error is what every method of a [Client] fails with.
type Error struct {
	Instance, Op string
	Status, Code int
	Message      string
	Kind         ErrorKind
	Hint         string
	Err          error
}

func (e *Error) Error() string {
	text := e.Instance + ": " + e.Op
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap gives what went wrong.
func (e *Error) Unwrap() error { return e.Err }
