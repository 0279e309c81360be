// Package client finds out from a model request who sent it: which agent, whether a person typed its prompts, whether it shows the
// login of a subscription, and how long its client waits.
//
//	s := client.SpeakerOf(header, request)
//	for _, part := range s.Typed(request, message) { … } // what a person typed
//
// What is known of each agent stands in package internal/config/profile. Everything here is a value without state, for any number of
// goroutines; the tests replay sessions that were recorded with the real agents.
package client
