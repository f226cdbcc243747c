// Orderdesk works through a list of blocked sales orders with an AI assistant:
// it keeps the plan, saves every step, counts every budget, and lets nothing
// change until a person with the right role has approved exactly that change.
//
// The folders are the architecture. Each answers one question and imports only
// those to its right; a test (mcpserver/cli/architecture_test.go) holds them
// to it:
//
//	main.go -> mcpserver -> tools -> approvalgate -> runstore
//
//	mcpserver      Who may ask? The command line (cli) and the built-in host (driver).
//	tools          What may be asked? One door for every tool; one folder per domain.
//	approvalgate   Who may say yes? Requests are queued, decided by people, carried out.
//	runstore       What is remembered? Runs, plans, facts, budgets, actions, notes, trace.
package main

import (
	"context"
	"os"

	"orderdesk/mcpserver/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.System()))
}
