//go:build race

package agent_test

// The race detector makes counting tokens ten times slower: fewer queries then.
const manyQueries = 160
