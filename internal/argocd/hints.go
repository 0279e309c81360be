package argocd

import (
	"net/http"
	"slices"
	"strings"
)

// Codes of gRPC that Argo CD puts into its answers (google.golang.org/grpc/codes).
const (
	codeInvalid      = 3
	codeDeadline     = 4
	codeExists       = 6
	codeExhausted    = 8
	codePrecondition = 9
	codeAborted      = 10
	codeOutOfRange   = 11
	codeUnknownCall  = 12
)

// explainStatus sets kind and hint of a refusal by Argo CD or by a proxy in front of it. token says that a token was sent.
func (c *Client) explainStatus(e *Error, r request, said refusal, token bool) {
	text := strings.ToLower(said.text)
	switch {
	case strings.Contains(text, "larger than max"):
		// From gRPC inside the server, with code 8, which Argo CD's gateway turns into status 429.
		e.Kind = TooLarge
		e.Hint = "the server's own bound for a message: ask for less (a project), or raise ARGOCD_GRPC_MAX_SIZE_MB on the server"
	case strings.Contains(text, "sync window"):
		// "cannot sync: blocked by sync window" comes with the status for a lack of permission, which it is not
		// (server/application/application.go).
		e.Kind, e.Hint = Conflict, "a sync window of the project forbids it now, no role is missing: the application's sync windows say which and until when; wait, or have a window changed (manualSync lets people sync in it)"
	case strings.Contains(text, "max pods to view logs"):
		e.Kind, e.Hint = TooLarge, "the server shows the logs of so many pods at once and no more (10, or what server.maxPodLogsToRender of argocd-cm says): name one pod, or the kind and resource_name of one workload; the resource tree lists the pods"
	case unreachableHint(text) != "": // a sync then fails with status 400
		e.Kind, e.Hint = Server, unreachableHint(text)
	case refusedNowHint(text) != "":
		e.Kind, e.Hint = Conflict, refusedNowHint(text)
	case e.Status == http.StatusUnauthorized:
		e.Kind, e.Hint = Unauthenticated, c.unauthenticatedHint(text, token)
	case e.Status == http.StatusForbidden:
		e.Kind, e.Hint = Forbidden, forbiddenHint(r)
	case e.Status == http.StatusNotFound && said.json:
		e.Kind, e.Hint = Missing, "check its name (and project and namespace); a list shows what there is"
	case e.Status == http.StatusNotFound && len(r.path) == 1:
		e.Kind, e.Hint = NotArgoCD, "the server does not know this path: check the root path in the URL "+c.URL()
	case e.Status == http.StatusNotFound && len(r.path) > 1 && strings.Contains(r.path[1], "/"):
		e.Kind, e.Hint = Missing, slashHint(r)
	case e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotImplemented, e.Code == codeUnknownCall:
		e.Kind, e.Hint = Missing, "this version of Argo CD does not know the call, or the root path in the URL "+c.URL()+" is wrong"
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionFailed && e.Code == 0, e.Code == codeExists, e.Code == codeAborted:
		e.Kind, e.Hint = Conflict, "it exists already, or was changed meanwhile: read it again before you change it"
	case strings.Contains(text, "selector") && (strings.Contains(text, "pars") || strings.Contains(text, "requirement")):
		e.Kind, e.Hint = Invalid, "write the label selector like env=prod,team in (a,b)"
	case strings.Contains(text, "failed to marshal error message"):
		e.Kind, e.Hint = Server, "this version does not take that choice of fields: ask for whole objects"
	case e.Status == http.StatusGatewayTimeout, e.Status == http.StatusRequestTimeout, e.Code == codeDeadline:
		e.Kind, e.Hint = Timeout, "the server, or a proxy in front, ran out of time: ask for less (a project, a name), or try again later"
	case e.Status == http.StatusTooManyRequests, e.Code == codeExhausted:
		e.Kind, e.Hint = Server, "there are too many requests: try again later"
	case e.Status == http.StatusRequestEntityTooLarge:
		e.Kind, e.Hint = TooLarge, "what was sent is larger than the server, or a proxy in front, takes"
	case e.Status < 500, e.Code == codeInvalid, e.Code == codePrecondition, e.Code == codeOutOfRange:
		e.Kind, e.Hint = Invalid, "correct the arguments: the server says what is wrong with them"
	case e.Status == http.StatusBadGateway, e.Status == http.StatusServiceUnavailable:
		e.Kind, e.Hint = Server, "argocd-server, or something that it needs (repo-server, redis), is not there: try again later"
	default:
		e.Kind, e.Hint = Server, "look at the log of argocd-server"
	}
	if r.changes() && e.Status >= 500 && e.Kind != Invalid {
		e.Hint += "; it was not repeated: look at what it did before you repeat it"
	}
}

// unreachableHint returns the hint for a refusal that says what argocd-server could not reach: "rpc error: code = Unavailable desc = connection
// error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:8081: connect: connection refused""; "" for any other text. The ports
// are those of Argo CD's own manifests.
func unreachableHint(text string) string {
	own := containsOne(text, "error while dialing", "code = unavailable", "connection error: desc")
	if !own && !(strings.Contains(text, "dial tcp") && containsOne(text, "refused", "timeout", "no such host", "no route to host", "unreachable")) {
		return ""
	}
	switch {
	case !own && containsOne(text, "info/refs", "list refs", "ls-remote", "git fetch", "git-upload-pack", "index.yaml", "index file", "oci", "/manifests/", "ssh:"):
		return "Argo CD cannot reach the host of the repository: check the host in its URL, and whether Argo CD's cluster may connect to it; the list of repositories shows the state of each connection"
	case strings.Contains(text, ":8081"), strings.Contains(text, "repo-server"), strings.Contains(text, "reposerver"):
		return "Argo CD's repo server does not answer, so there are no manifests, differences and syncs; the application and its repository are not at fault: look at the pods of argocd-repo-server, and try again later"
	case strings.Contains(text, ":6379"), strings.Contains(text, "redis"):
		return "Argo CD's redis does not answer; the application is not at fault: look at the pods of argocd-redis, and try again later"
	}
	return "something behind argocd-server does not answer; the application is not at fault: look at Argo CD's own pods, or at the cluster that is named, and try again later"
}

// refusedNowHint returns the hint for a refusal that is not about the arguments, because something else must happen first (server/application
// and server/project of Argo CD); "" for any other text.
func refusedNowHint(text string) string {
	switch {
	case strings.Contains(text, "another operation"):
		return "wait for the operation that runs, or terminate it"
	case strings.Contains(text, "no operation is in progress"):
		return "nothing runs, so there is nothing to end: the application shows how its last operation ended"
	case strings.Contains(text, "rollback cannot be initiated when auto-sync"):
		return "auto-sync would undo a rollback: turn it off for this application first, or revert the commit"
	case strings.Contains(text, "auto-sync currently set to"):
		return "with auto-sync only the revision that the application follows can be synced: leave the revision out, change what it follows, or turn auto-sync off first"
	case strings.Contains(text, "application is deleting"):
		return "the application is being deleted: wait until it is gone; nothing else is taken until then"
	case strings.Contains(text, "project is referenced by"):
		return "applications are still in the project: move them to another one, or delete them, first; a list by project shows them"
	case strings.Contains(text, "as a result of project update"):
		return "applications of the project use what the change would take away: move or change them first; a list by project shows them"
	}
	return ""
}

// containsOne reports whether text contains one of the words.
func containsOne(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// unauthenticatedHint returns the hint for a refused credential: it distinguishes expired, foreign, revoked and missing tokens.
func (c *Client) unauthenticatedHint(text string, token bool) string {
	whose := "this instance"
	if c.user {
		whose = "this user"
	}
	switch {
	case !token:
		return "no token was sent: give " + whose + " one (argocd account generate-token, or the auth-token in the argocd CLI's config file)"
	case strings.Contains(text, "expired"):
		return "the token of " + whose + " has expired: log in again (argocd relogin) or make a new one (argocd account generate-token)"
	case strings.Contains(text, "signature"):
		return "the token of " + whose + " is of another Argo CD, or the server's key was changed: make a new one at " + c.URL()
	case strings.Contains(text, "revoked"), strings.Contains(text, "not been found"), strings.Contains(text, "does not have"):
		return "the token of " + whose + " was revoked: make a new one"
	}
	return "what was sent as the token of " + whose + " is none that Argo CD knows: it must be a whole JSON web token"
}

// forbiddenHint returns the hint for a 403. Argo CD also answers 403 for an object that does not exist: a user who may not read it must not
// learn that.
func forbiddenHint(r request) string {
	grant := "ask for a role that allows it (argocd account can-i shows what the token may do)"
	if len(r.path) < 2 {
		return "the token's role does not allow it: " + grant
	}
	switch Kind(r.path[0]) {
	case Applications:
		hint := "the token's role does not allow it, or there is no such application here (Argo CD says the same to both): check name and namespace with a list, or "
		if r.query.Get("project") == "" {
			return hint + "give its project to learn which; else " + grant
		}
		return hint + grant
	case Clusters, ApplicationSets, "repositories":
		return "the token's role does not allow it, or it does not exist (Argo CD says the same to both): check with a list, or " + grant
	}
	return "the token's role does not allow it: " + grant
}

// slashHint returns the hint for a 404 for a name with a slash. Kubernetes has no such names, clusters and repositories are addressed by
// URLs, and many proxies do not pass %2F on.
func slashHint(r request) string {
	switch r.path[0] {
	case string(Clusters):
		return "there is none of this address, or a proxy in front of Argo CD does not pass a slash in a name on: use the cluster's name"
	case string(Applications), string(Projects), string(ApplicationSets):
		return "no name has a slash in it: give what stands before it as the namespace, and the name alone"
	}
	return "there is none of this name, or a proxy in front of Argo CD does not pass a slash in a name on"
}
