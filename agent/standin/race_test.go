//go:build race

package standin_test

const raceDetector = true
