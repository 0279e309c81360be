// Package redact makes objects of Argo CD and Kubernetes fit to be shown: secrets masked,
// and what only machines read left out.
package redact
