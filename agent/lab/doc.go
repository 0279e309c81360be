// Package lab is a laboratory of tools that misbehave, for demonstrations and tests.
package lab
