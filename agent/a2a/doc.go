// Package a2a serves an agent over the Agent2Agent protocol.
package a2a
