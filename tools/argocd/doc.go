// Package argocd is a client of the Argo CD API that holds one object at a time.
package argocd
