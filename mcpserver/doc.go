// Package mcpserver is the door for MCP hosts, the programs of AI assistants.
//
// A host works with the tools of one domain, and with four more for runs
// themselves. Nothing hangs on a connection: a run is named by run_id, and the
// one open run of the caller is meant without it. Every call is checked against
// the run's owner; another's run answers like one that is not there.
//
// All calls meet in [Hosts.Call], whatever they came through, and from there in
// tools.Set.Call, where the built-in driver's calls end too. One worker holds a
// run's lease at a time.
//
// # What a message passes
//
// On standard input ([Hosts.ServeStdio]) each line is checked on its raw bytes
// and for an id that can be answered, then handed to the library. Over HTTP
// ([Hosts.NewHTTP]) a request passes the limit of its body, its Origin, the
// bearer token, the raw bytes, the session's owner, the version, and whose
// request a cancellation is for. What is refused anywhere is in the audit log.
//
// # Where things are
//
//	hosts, runs, runtools, runcalls    calls, and which run they are for
//	resources, prompts, completions    what else hosts read; feed tells of changes
//	stdio, http, front, envelope       the transports, and what a message passes
//	agents, sessions, presence, busy   who calls, and their sessions
//	audit, strangers                   what is refused
//	conformance                        what the official suite asks for, behind a flag
package mcpserver
