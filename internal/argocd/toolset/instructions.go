package toolset

import (
	"fmt"
	"strings"
)

// Instructions returns the introduction to the tools that a client gets when it connects.
func (t *Toolset) Instructions() string {
	var b strings.Builder
	b.WriteString(`Tools for Argo CD. Every number they give is exact: counts and totals are over all objects, not over a page.

How to go about it:
- How many, how healthy, what is out of sync: list_applications; page 1 has all totals in "summary". Filter with health, sync, project, cluster, selector.
- Find something by a part of a name, label, repository, path or cluster: search_argocd_resources. It searches everything, every time.
- More than a page: make the call that "next" gives. Pages have 20 items, at most 100.
- One application: get_application_details, then get_application_resource_tree, get_application_managed_resources (what differs), application_service__list_resource_events, application_service__pod_logs.
- An answer is an error when the data could not be read whole; nothing partial is shown as whole. Values shown as ******** are secrets and cannot be read.
`)
	if len(t.o.Instances) > 1 {
		fmt.Fprintf(&b, "\nThere are several Argo CD instances: %s. The argument instance says which; answers name theirs.\n", t.names())
	}
	if t.o.AllowWrites {
		b.WriteString("\nTools that change something do nothing until confirm is the name of the object: without it they answer with what would happen.\n")
	} else {
		b.WriteString("\nNothing can be changed here: the tools only read.\n")
	}
	if t.o.UserTokens == TokensRequire {
		fmt.Fprintf(&b, "\nCalls are made with the user's own Argo CD token (header %s, or a bearer token).\n", t.o.UserHeader)
	}
	return b.String()
}
