package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// body is what a command does once its arguments and settings are known.
type body func(ctx context.Context, s *Settings, args []string) error

// The groups of the help.
const (
	groupWork   = "work"
	groupDecide = "decide"
	groupHosts  = "hosts"
	groupKeep   = "keep"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:                        "orderdesk",
		Short:                      "Work through a list with an assistant; people decide",
		Long:                       helpAbout + "\n\n" + helpExits,
		Example:                    "  orderdesk run\n  orderdesk approve A1 --as \"Maria Weber\"\n  orderdesk resume",
		SilenceErrors:              true,
		SilenceUsage:               true,
		Args:                       noSuchCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(a.proc.Stdin)
	root.SetOut(a.out.stdout)
	root.SetErr(a.out.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(err.Error(), cmd.CommandPath()+" --help shows what it takes")
	})
	root.PersistentFlags().Bool("json", false, "print one JSON value, also for errors")
	bind(root, root.PersistentFlags(), "data_dir")
	root.AddGroup(&cobra.Group{ID: groupWork, Title: "Work:"}, &cobra.Group{ID: groupDecide, Title: "Decide:"},
		&cobra.Group{ID: groupHosts, Title: "Serve MCP hosts:"},
		&cobra.Group{ID: groupKeep, Title: "Keep in shape:"})
	a.add(root, groupWork, a.runCommand(), a.resumeCommand(), a.statusCommand(), a.runsCommand(), a.traceCommand())
	a.add(root, groupHosts, a.mcpCommand(), a.serveCommand(), a.agentCommand())
	a.add(root, groupDecide, a.approveCommand(), a.approverCommand(), a.notesCommand())
	a.add(root, groupKeep, a.doctorCommand(), a.resetCommand(), a.configCommand(), a.completionCommand(),
		a.versionCommand())
	root.SetHelpFunc(a.help(root.HelpFunc()))
	help := helpCommand()
	help.GroupID = groupKeep
	root.SetHelpCommand(help)
	return root
}

func (a *app) add(root *cobra.Command, group string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
}

// with reads the settings before it runs the body.
func (a *app) with(run body) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.settings(func(name string) (string, bool) {
			f := cmd.Flags().Lookup(name)
			if f == nil {
				return "", false
			}
			return f.Value.String(), f.Changed
		})
		if err != nil {
			return err
		}
		return run(cmd.Context(), s, args)
	}
}

// parent is a command that only has commands below it.
func parent(use, short string, below ...*cobra.Command) *cobra.Command {
	var names []string
	for _, cmd := range below {
		names = append(names, cmd.Name())
	}
	parent := &cobra.Command{Use: use, Short: short, Args: noSuchCommand, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError(cmd.CommandPath()+" needs a command: "+strings.Join(names, ", "),
				cmd.CommandPath()+" --help")
		}}
	parent.AddCommand(below...)
	return parent
}

// noSuchCommand refuses arguments where only commands make sense.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
	}
	return usageError(`unknown command "`+args[0]+`"`, hint)
}

// upTo takes at most n arguments.
func upTo(n int) cobra.PositionalArgs { return between(0, n) }

// exactly takes n arguments.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func between(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := cmd.UseLine()
		switch {
		case len(args) > high:
			return usageError(`unexpected argument "`+args[high]+`"`, hint)
		case len(args) < low:
			return usageError("an argument is missing", hint)
		}
		return nil
	}
}
