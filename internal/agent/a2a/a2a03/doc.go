// Package a2a03 speaks A2A 0.3 in front of a handler of 1.0: JSON-RPC, the agent card of both versions in one, and the
// tasks of push notifications.
//
// Requests are read into the types of 1.0, answers are written from them. What 0.3 cannot say is said as its SDKs do: a data
// part that is not an object goes under "value", with data_part_compat in its metadata.
//
// The server in front bounds requests in size and shape, and writes streams: it takes the ids of events out and gives each a
// time. golden files of agent/a2a (testdata/answers03) hold the answers byte for byte.
package a2a03
