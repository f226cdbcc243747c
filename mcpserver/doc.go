// Package mcpserver is the door for MCP hosts: a domain's tools, and a few
// around runs, as one MCP server for all revisions of the protocol.
//
// A host has no state here. What it works on is a run, named by run_id or found
// as the caller's one open run, and every call checks that the run is the
// caller's own: another's run is answered like one that does not exist. While a
// host works on a run it holds the run's lease, as the built-in driver does, so
// that two workers never mix their steps.
//
//	hosts, runs   what may be asked, by whom, in which run; know nothing of MCP
//	server        the same as an MCP server
//	stdio         the server on standard input and output
//	http, front   the server over HTTP, and what a request passes before it
//	agents        who may call over HTTP; sessions: bound to whoever opened them
package mcpserver
