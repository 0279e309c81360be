//go:build !race

package agent_test

// manyQueries is how many queries the test of what they leave behind asks.
const manyQueries = 1000
