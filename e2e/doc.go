// Package e2e holds the tests that run the plimsoll command itself: real agent CLIs, a
// real bash in a pseudo-terminal, and what a command must find exactly as it would
// without Plimsoll (streams, descriptors, environment, signals, exit status).
//
// Each test runs bare first, then under every layer that `plimsoll doctor --json` finds
// available here, and asks for the same answer. So the bare run proves that the test
// measures what it says, and a layer that appears on another machine is tested there
// without a change.
//
//	.ci/run e2e                          # as the gate does, installs the agent CLIs
//	go test ./e2e                        # without them: only the tests that need none
//	go test ./e2e -run Terminal -v
//
// The tests of the window (window_*_test.go) let the CLIs work against a scripted provider
// in this process, which holds every request to its own rules and to a window: through
// Plimsoll a task ends that the CLI alone does not bring to an end; what is sent under the
// limit is the same bytes before and behind Plimsoll; the first request is the one that the
// CLI sends when it knows of no base URL, for which an HTTPS proxy with a certificate of
// its own plays the provider's host; and what a CLI compacts by itself stays its own.
//
// The tests of agents over A2A (a2a_*_test.go) let the official JavaScript SDK, and a client
// that writes the protocol itself, go away in the middle of streams and come back. The model
// is one that says each line when the test lets it, so nothing hangs on time.
//
// A2A's own test kit is run against every way to serve an agent where PLIMSOLL_A2A_TCK names its folder
// (github.com/a2aproject/a2a-tck at 2026-03, with its requirements in venv); else that is skipped.
//
// The log of a failed workflow (github_test.go) is asked for of a stand-in of GitHub's MCP server, and of the official one where
// PLIMSOLL_GITHUB_MCP_SERVER names its program.
//
// The agent CLIs are pinned in package.json and package-lock.json and live in
// e2e/node_modules, which git ignores; PLIMSOLL_E2E_CLIENTS names another node_modules, as by
// night, for their newest releases. Those that are Node programs are started by the Node.js of
// e2e/mcp where that is installed. package.json puts detect-libc, which is there anyway, in the
// place of five builds of a clipboard library that Qwen Code lists and the registry has not. Without them their test is skipped with the
// reason, and fails where CI=true. They get an empty home, keys that open nothing and a
// proxy that does not answer, so nothing leaves the machine.
//
// TestMain builds plimsoll, testtool (a small program that reports what it finds) and the
// MCP server of internal/testing/toolserver once. Where there is no Go, PLIMSOLL_E2E_BIN names a
// folder that holds them; without the last one the tests that need it are skipped.
// PLIMSOLL_E2E_LAYERS="systemd cgroup2" leaves out other layers, where starts are slow.
// Long tests that set nothing in this process and look at nothing of the host beside their own processes run in parallel, when
// the others have ended.
// Every process that a test starts carries a cookie in its environment; a test ends by
// looking for the cookie, so a process that a run left behind is a failure.
package e2e
