// Package cli is the command line: it reads settings, wires the parts together
// and prints what came of it. It is the edge of the program: [Process] is all
// of the outside world that a command sees, and nothing below this package
// reads the environment, the arguments or a terminal.
//
// # Output
//
// Results go to standard output; progress, questions, warnings and errors go
// to standard error. With --json standard output holds exactly one JSON value,
// also when the command fails:
//
//	{"error":{"code":"usage","message":"...","hint":"..."},"exit":2}
//
// Text that came from outside is shown with control, bidi and invisible
// characters escaped; JSON keeps it as it is.
//
// A reader that goes away (a pipe to head, a closed terminal) never stops a
// run: SIGPIPE is ignored and what can no longer be shown is dropped, while
// the work goes on to its saved end and the exit code tells what came of it.
// Any other failure to write standard output turns exit code 0 into 1.
//
// # Exit codes
//
//	0    done, or waiting for an approval
//	1    internal error; the details are in a log, under the reference shown
//	2    usage or configuration
//	3    stopped: a budget, an error or a guard; a resume may go on
//	4    refused
//	5    the store is locked or damaged
//	130  interrupted
//
// # Settings
//
// A setting comes from the first place that has it: flag, environment,
// configuration file, default. An empty value counts as none. All mistakes are
// reported at once, and "orderdesk config show" tells where each value is from.
// The file is JSON, flat, named by ORDERDESK_CONFIG or else config.json in
// orderdesk's folder of the user's configuration directory:
//
//	{"org": "1010", "max_model_calls": 25}
//
// # Signals
//
// The first SIGINT, SIGTERM or SIGHUP ends the command at its next saved step,
// the second one at once. What the process was started to ignore (nohup, a
// background job) stays ignored.
package cli
