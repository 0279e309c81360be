// Package simulator plays the API server of an Argo CD installation of any size.
package simulator
