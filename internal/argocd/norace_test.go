//go:build !race

package argocd

const raceDetector = false
