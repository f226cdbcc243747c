package cli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpExits = `Exit codes: 0 done or waiting for an approval, 1 internal error, 2 usage or
configuration, 3 stopped by a budget, an error or a guard, 4 refused, 5 store
locked or damaged, 130 interrupted.`

	helpSettings = `A setting comes from its flag, else from the environment (--max-chars is
ORDERDESK_MAX_CHARS there), else from the configuration file, else it has its
default; empty counts as not given. "orderdesk config show" prints them all.`
)

// bind gives cmd a flag for each of the settings.
func bind(cmd *cobra.Command, flags *pflag.FlagSet, names ...string) {
	flags.SortFlags = false
	for _, d := range definitions() {
		if !slices.Contains(names, d.name) {
			continue
		}
		usage := d.help
		if d.preset != "" {
			usage += " (default " + d.preset + ")"
		}
		flags.String(d.flag(), "", usage)
		_ = cmd.RegisterFlagCompletionFunc(d.flag(), completeSetting(d))
	}
}

// completeSetting offers a setting's choices, files where it names a file, and
// nothing for numbers and names.
func completeSetting(d definition) cobra.CompletionFunc {
	switch {
	case d.choices != nil:
		return cobra.FixedCompletions(d.choices, cobra.ShellCompDirectiveNoFileComp)
	case d.value == "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case d.value == "FILE" || d.value == "PATH":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.NoFileCompletions
}

// helpCommand is "help [COMMAND]"; a topic that does not exist is a usage error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError("no help on "+strings.Join(args, " "), "orderdesk --help lists the commands")
			}
			return about.Help()
		},
	}
}

// help prints a command's help, with --json as {"help": "..."}.
func (a *app) help(plain func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if !a.out.json {
			plain(cmd, args)
			return
		}
		var text bytes.Buffer
		cmd.SetOut(&text)
		plain(cmd, args)
		_ = a.out.result(map[string]string{"help": text.String()}, func() {})
	}
}
