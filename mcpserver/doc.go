// Package mcpserver is the door for MCP hosts: a domain's tools, and a few
// around runs, as one MCP server for all revisions of the protocol.
//
// A host has no state here. What it works on is a run, named by run_id or found
// as the caller's one open run, and every call checks that the run is the
// caller's own: another's run is answered like one that does not exist. While a
// host works on a run it holds the run's lease, as the built-in driver does, so
// that two workers never mix their steps.
//
//	Hosts   what may be asked, by whom, in which run; knows nothing of MCP
//	Server  Hosts as an MCP server
//	stdio   the server on standard input and output
package mcpserver
