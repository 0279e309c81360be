package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// third are sessions of other runners yet, for the test errors alone. They were written after the rules of failures had been mended by
// what was lost of the second set, and before they were ever run.
var third = []script{
	{
		name: "a warehouse in Swift and .NET", dialect: wire.Chat, agent: claudeCode,
		said: []string{
			"Move the picking service off the old queue. Aisle 44 is out of use until spring, and no list may have more than 35 lines.",
			"Labels are 102 by 152 mm, the printers refuse anything else.",
		},
		user:    []string{"Aisle 44 is out of use until spring", "no list may have more than 35 lines", "Labels are 102 by 152 mm"},
		decided: map[string]string{"Keeping the queue names as they are, as the scanners have them in firmware.": "Keeping the queue names as they are"},
		dirs:    []string{"src/Picking", "src/Labels", "src/Queue", "ios/Scanner", "tests/Picking.Tests", "infra"}, suffix: ".cs",
		stems: []string{"PickList", "Aisle", "LabelSize", "QueueName", "Scanner", "Batch", "Route", "Stock", "Worker", "Printer", "Season", "Weights", "Totals"},
		done:  []string{"list limit of 35", "aisle filter"},
		todo:  []string{"label test on the real printer", "tell the night shift", "remove the old queue's user", "count lines per list in metrics", "route by weight", "archive lists after a week", "spring flag for aisle 44", "retry for the scanner", "batch size by season", "docs for the floor"},
		failing: map[string][]string{
			"dotnet test": {
				"  Determining projects to restore...\n  Failed Picking.Tests.PickListTests.NeverMoreThan35Lines [41 ms]\n  Error Message:\n   Assert.True() Failure\nExpected: True\nActual:   False\n  Stack Trace:\n     at Picking.Tests.PickListTests.NeverMoreThan35Lines() in /srv/app/tests/Picking.Tests/PickListTests.cs:line 72\n\nFailed!  - Failed:     1, Passed:    58, Skipped:     0, Total:    59, Duration: 611 ms",
				"PickListTests.NeverMoreThan35Lines", "PickListTests.cs:line 72",
			},
			"swift test": {
				"Build complete! (4.02s)\nTest Suite 'LabelTests' started at 2026-11-20 10:11:12.000\n/srv/app/ios/Scanner/Tests/LabelTests.swift:31: error: -[ScannerTests.LabelTests testWidth] : XCTAssertEqual failed: (\"100\") is not equal to (\"102\") - millimetres\nTest Case '-[ScannerTests.LabelTests testWidth]' failed (0.003 seconds).\nExecuted 9 tests, with 1 failure (0 unexpected) in 0.041 (0.044) seconds",
				"LabelTests testWidth", "is not equal to",
			},
			"terraform plan -out=p": {
				"Terraform used the selected providers to generate the following execution plan.\n╷\n│ Error: Invalid value for variable\n│ \n│   on infra/queue.tf line 18, in module \"queue\":\n│   18:   retention = var.retention_days\n│ \n│ The retention must be between 1 and 14 days.\n╵",
				"Error: Invalid value for variable", "The retention must be between 1 and 14 days",
			},
			"kubectl rollout status deploy/picking --timeout=60s": {
				"Waiting for deployment \"picking\" rollout to finish: 1 out of 3 new replicas have been updated...\nerror: timed out waiting for the condition on deployments/picking",
				"timed out waiting for the condition on deployments/picking",
			},
			"npx jest labels": {
				" FAIL  web/labels.test.tsx\n  Labels\n    ✓ prints one (12 ms)\n    ✕ refuses other sizes (8 ms)\n\n  ● Labels › refuses other sizes\n\n    expect(received).toThrow()\n\n    Received function did not throw\n\n      21 |   it('refuses other sizes', () => {\n    > 22 |     expect(() => label(100, 150)).toThrow();\nTests:       1 failed, 1 passed, 2 total",
				"Labels › refuses other sizes", "Received function did not throw",
			},
			"npm install": {
				"npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\nnpm error While resolving: labels@2.0.0\nnpm error Found: react@19.1.0\nnpm error Could not resolve dependency:\nnpm error peer react@\"^18.0.0\" from zebra-print@4.4.1",
				"unable to resolve dependency tree", "from zebra-print@4.4.1",
			},
		},
		passed: map[string][]string{"dotnet build": {"src/Queue/QueueName.cs(14,9): error CS0246: The type or namespace name 'Aisel' could not be found\nBuild FAILED.", "Build succeeded."}},
		code:   []string{"    public %s %s(%s %s)", "        var %s = await _%s.%s(%s);", "        if (%s is null) throw new %s(nameof(%s));", "        return %s.Select(x => x.%s).ToList();", "    }", "using Picking.%s;", "    /// <summary>%s of %s</summary>", "    private readonly %s _%s;"},
	},
	{
		name: "a compiler in Haskell and Go", dialect: wire.Gemini, agent: geminiCLI,
		said: []string{
			"Make the type checker incremental. It may use 700 MB at most, and error numbers below T300 are in the textbook and must not move.",
			"The course begins on the 2nd of March; nothing may change in the exercise runner after that.",
		},
		user:    []string{"700 MB at most", "error numbers below T300 are in the textbook", "The course begins on the 2nd of March"},
		decided: map[string]string{"Hashes go over the desugared tree, so that a comment changes nothing.": "Hashes go over the desugared tree"},
		dirs:    []string{"src/Check", "src/Parse", "src/Emit", "runner/cmd", "runner/internal/sandbox", "test"}, suffix: ".hs",
		stems: []string{"Unify", "Scheme", "Env", "Hash", "Module", "Lexer", "Layout", "Core", "Error", "Kind", "Solve", "Pretty", "Cache"},
		done:  []string{"hash of a module", "cache on disk"},
		todo:  []string{"measure memory with the big exercise", "error T212 with two notes", "evict by age", "golden files for the new messages", "runner: kill children too", "student names out of logs", "time limit per test", "port the bench", "document the cache format", "lock for two editors"},
		failing: map[string][]string{
			"cabal test": {
				"Running 1 test suites...\nTest suite check-test: RUNNING...\nunify\n  occurs check:   FAIL\n    test/Unify.hs:57:\n    expected: Left (Infinite \"a\")\n     but got: Right (TVar \"a\")\n    Use -p '/occurs check/' to rerun this test only.\n1 out of 40 tests failed (0.22s)\nTest suite check-test: FAIL",
				"occurs check", "but got: Right (TVar \"a\")",
			},
			"cabal build": {
				"[12 of 31] Compiling Check.Solve\n\nsrc/Check/Solve.hs:88:17: error: [GHC-83865]\n    • Couldn't match expected type ‘Scheme’ with actual type ‘Type’\n    • In the first argument of ‘generalise’, namely ‘t’\n   |\n88 |   s <- generalise t\n   |                   ^",
				"src/Check/Solve.hs:88:17: error", "Couldn't match expected type",
			},
			"go test ./runner/...": {
				"?   \trunner/cmd\t[no test files]\n--- FAIL: TestKillsGrandchildren (2.01s)\n    sandbox_test.go:112: pid 8831 is alive after the limit\nFAIL\nFAIL\trunner/internal/sandbox\t2.044s\nok  \trunner/internal/report\t0.011s\nFAIL",
				"TestKillsGrandchildren", "pid 8831 is alive after the limit",
			},
			"bats test/cli.bats": {
				"cli.bats\n ✓ prints the version\n ✗ refuses a file without a module header\n   (in test file test/cli.bats, line 19)\n     `[ \"$status\" -eq 2 ]' failed\n   status: 0\n\n2 tests, 1 failure",
				"refuses a file without a module header",
			},
			"bazel test //runner:limits": {
				"INFO: Analyzed target //runner:limits (0 packages loaded).\nFAIL: //runner:limits (Exit 1) (see /home/mika/.cache/bazel/limits/test.log)\n//runner:limits                                                          FAILED in 3.4s\nINFO: Build completed, 1 test FAILED, 3 total actions",
				"//runner:limits (Exit 1)",
			},
			"./runner/cmd/run exercise-07": {
				"loading exercise-07\npanic: runtime error: index out of range [7] with length 7\n\ngoroutine 1 [running]:\nmain.grade(0xc000112000)\n\t/home/mika/shop/runner/cmd/main.go:203 +0x1c5\nexit status 2",
				"index out of range [7] with length 7", "runner/cmd/main.go:203",
			},
		},
		passed: map[string][]string{"hlint src": {"src/Parse/Layout.hs:12:3-30: Warning: Use unless\n1 hint", "No hints"}},
		code:   []string{"%s :: %s -> %s -> Either %s %s", "%s %s = case %s of", "  Just %s -> %s <$> %s", "  Nothing -> Left (%s %s)", "import %s.%s (%s)", "-- | %s of %s", "data %s = %s %s | %s", "  where %s = %s . %s"},
	},
}
