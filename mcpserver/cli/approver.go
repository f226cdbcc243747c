package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
)

// newApprover is a person to be added.
type newApprover struct {
	roles []string // of the flags; several in one are separated by commas
	login string   // "": not known to start runs here
}

func (a *app) approverCommand() *cobra.Command {
	return parent("approver", "Say who may decide, and in which roles",
		a.approverAddCommand(),
		&cobra.Command{Use: "list", Short: "List the approvers and their roles", Args: upTo(0), RunE: a.with(a.approverList)},
		&cobra.Command{Use: "remove NAME", Short: "Take an approver's roles away; decisions stay recorded",
			Args: exactly(1), RunE: a.with(a.approverRemove)})
}

func (a *app) approverAddCommand() *cobra.Command {
	var o newApprover
	cmd := &cobra.Command{
		Use:   "add NAME --role ROLE...",
		Short: "Add an approver with a passphrase",
		Long: `Add a person who may decide. The passphrase is asked for twice, or read from the
first line of a file. Nobody may decide in runs that they started: --login says
which login name is theirs. Several roles follow one --role, or each its own.`,
		Example: "  orderdesk approver add \"Maria Weber\" --role " + exampleRole + " --login mweber\n" +
			"  orderdesk approver add \"Jon Berg\" --role " + exampleRoles,
		Args: func(cmd *cobra.Command, args []string) error { return a.checkNewApprover(cmd, args, o) },
		RunE: a.with(func(ctx context.Context, s *Settings, args []string) error {
			o.roles = append(o.roles, args[1:]...) // "--role A B": the flag has taken the first
			return a.approverAdd(ctx, s, args[0], o)
		}),
	}
	cmd.Flags().StringArrayVar(&o.roles, "role", nil, "give the role `ROLE`; more may follow")
	cmd.Flags().StringVar(&o.login, "login", "", "the person's login name here is `NAME`")
	bind(cmd, cmd.Flags(), "passphrase_file")
	return cmd
}

func (a *app) checkNewApprover(cmd *cobra.Command, args []string, o newApprover) error {
	if err := between(1, 20)(cmd, args); err != nil {
		return err
	}
	early := beforeRole(cmd.Flags(), a.proc.Args) - 2 // without "approver add"
	for i, role := range args[1:] {                   // of "--role A B" the flag has taken the first
		if i+1 < early || role != strings.ToUpper(role) {
			return usageError(`unexpected argument "`+role+`"; nothing recorded`,
				`a name with blanks needs quotes, as in orderdesk approver add "Maria Weber" --role `+exampleRole)
		}
	}
	if strings.HasPrefix(o.login, "-") {
		return usageError("--login needs a login name; nothing recorded", cmd.UseLine())
	}
	if len(o.roles) == 0 {
		return usageError("approver add needs at least one --role", cmd.UseLine())
	}
	return nil
}

// beforeRole counts the words before the first --role that are no flag and no
// flag's value.
func beforeRole(flags *pflag.FlagSet, words []string) int {
	n, value := 0, false
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		switch {
		case value:
			value = false
		case isFlag && (name == "role" || strings.HasPrefix(name, "role=")):
			return n
		case isFlag:
			f := flags.Lookup(name) // none for --name=value
			value = f != nil && f.NoOptDefVal == ""
		default:
			n++
		}
	}
	return n
}

func (a *app) approverAdd(ctx context.Context, s *Settings, name string, o newApprover) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	var roles []string
	for _, r := range o.roles {
		roles = append(roles, strings.FieldsFunc(r, func(c rune) bool { return c == ',' })...)
	}
	passphrase, err := a.passphrase(ctx, s, name, true)
	if err != nil {
		return err
	}
	err = a.withStore(ctx, s, "approver", func(store *runstore.Store) error {
		return approvalgate.NewPeople(store).Add(ctx, name, roles, o.login, passphrase, who.Name)
	})
	if err != nil {
		return err
	}
	return a.out.result(map[string]any{"name": name, "roles": roles, "login": o.login}, func() {
		a.out.say("%s may now decide as %s.", name, strings.Join(roles, ", "))
	})
}

func (a *app) approverList(ctx context.Context, s *Settings, _ []string) error {
	var people []approvalgate.PersonInfo
	err := a.readStore(ctx, s, "approver", func(store *runstore.Store) (err error) {
		people, err = approvalgate.NewPeople(store).List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	type line struct {
		Name  string   `json:"name"`
		Roles []string `json:"roles"`
		Login string   `json:"login,omitempty"`
	}
	lines := []line{}
	for _, p := range people {
		lines = append(lines, line{p.Name, p.Roles, p.Login})
	}
	return a.out.result(map[string]any{"approvers": lines}, func() {
		if len(lines) == 0 {
			a.out.say("There are no approvers. Add one: orderdesk approver add NAME --role %s", exampleRole)
			return
		}
		t := a.out.table("NAME", "ROLES", "LOGIN")
		for _, l := range lines {
			t.row(l.Name, strings.Join(l.Roles, ", "), l.Login)
		}
		t.print()
	})
}

func (a *app) approverRemove(ctx context.Context, s *Settings, args []string) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	err = a.withStore(ctx, s, "approver", func(store *runstore.Store) error {
		return approvalgate.NewPeople(store).Remove(ctx, args[0], who.Name)
	})
	if err != nil {
		return err
	}
	return a.out.result(map[string]any{"removed": args[0]}, func() {
		a.out.say("%s may no longer decide; what was approved and not carried out will be refused.", args[0])
	})
}
