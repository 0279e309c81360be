// Package inventory answers questions about everything that an Argo CD instance has:
// pages of sorted listings, and searches over all kinds at once.
package inventory
