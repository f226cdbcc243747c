package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"orderdesk/mcpserver"
	"orderdesk/runstore"
)

func (a *app) agentCommand() *cobra.Command {
	return parent("agent", "Manage the programs that may call over HTTP",
		&cobra.Command{Use: "add NAME", Short: "Add an agent and show its token, once", Args: exactly(1),
			Example: "  orderdesk agent add night-job", RunE: a.with(a.agentAdd)},
		&cobra.Command{Use: "list", Short: "List the agents", Args: upTo(0), RunE: a.with(a.agentList)},
		&cobra.Command{Use: "remove NAME", Short: "Take an agent's token away, at once", Args: exactly(1), RunE: a.with(a.agentRemove)},
	)
}

// madeAgent is an agent with its token.
type madeAgent struct {
	Name  string `json:"name"`
	Token string `json:"token"`
}

func (a *app) agentAdd(ctx context.Context, s *Settings, args []string) error {
	made := madeAgent{Name: args[0]}
	err := a.onAgents(ctx, s, func(agents *mcpserver.Agents, by string) (err error) {
		made.Token, err = agents.Add(ctx, made.Name, by)
		return err
	})
	if err != nil {
		return err
	}
	return a.out.result(made, func() {
		a.out.say("Agent %s may call. Its token, shown only now:", made.Name)
		a.out.say("%s", made.Token)
	})
}

func (a *app) agentList(ctx context.Context, s *Settings, _ []string) error {
	var list []mcpserver.Agent
	err := a.readStore(ctx, s, "agent", func(store *runstore.Store) (err error) {
		list, err = mcpserver.NewAgents(store).List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return a.out.result(map[string]any{"agents": list}, func() {
		if len(list) == 0 {
			a.out.say("There are no agents. Add one: orderdesk agent add NAME")
			return
		}
		t := a.out.table("NAME", "ADDED", "BY")
		for _, g := range list {
			t.row(g.Name, g.Added.UTC().Format(time.DateOnly), g.By)
		}
		t.print()
	})
}

func (a *app) agentRemove(ctx context.Context, s *Settings, args []string) error {
	err := a.onAgents(ctx, s, func(agents *mcpserver.Agents, by string) error { return agents.Remove(ctx, args[0], by) })
	if err != nil {
		return err
	}
	return a.out.result(map[string]string{"removed": args[0]}, func() { a.out.say("Agent %s is removed; its token is void.", args[0]) })
}

// onAgents opens the store for work on agents.
func (a *app) onAgents(ctx context.Context, s *Settings, use func(*mcpserver.Agents, string) error) error {
	who, err := a.me()
	if err != nil {
		return err
	}
	return a.withStore(ctx, s, "agent", func(store *runstore.Store) error {
		err := use(mcpserver.NewAgents(store), who.Name)
		var no *mcpserver.AgentError
		if errors.As(err, &no) {
			return usageError(no.Text, no.Hint)
		}
		return err
	})
}
