package mcpserver

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"orderdesk/tools"
)

// howToWork is what a host's model needs to know beyond the domain.
const howToWork = "Call run_status first: it shows the run's plan, what was read, what waits and what is left, as saved. " +
	"Go on from there; never repeat what it says is done. When every listed one is settled in the plan, call run_finish with what you found. " +
	"If a call is refused, do what the refusal says; a budget is raised by a person only."

// promptContinue is the prompt that takes a run.
const promptContinue = "continue_run"

func (h *Hosts) addPrompts(s *server.MCPServer) {
	s.AddPrompt(mcp.NewPrompt("work_through", mcp.WithPromptDescription("Work through the list, from the start or from where you were.")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return asked("Work through the list", h.o.Domain.System+"\n\nTask: "+h.o.Domain.Task(h.o.Scope)+"\n"+howToWork), nil
		})
	s.AddPrompt(mcp.NewPrompt(promptContinue, mcp.WithPromptDescription("Go on with one run, from its saved state."),
		mcp.WithArgument("run_id", mcp.RequiredArgument(), mcp.ArgumentDescription("The run's id, from run_list."))), h.continueRun)
	s.AddPrompt(mcp.NewPrompt("review_requests", mcp.WithPromptDescription("Sum up what waits for people's decisions.")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return asked("Review what waits", "Call run_list, then run_status for each run with pending requests. Tell the person, per request: what it is about, "+
				"the figures, the role that decides, and what speaks for and against it. You cannot decide; approvers do, with their own command."), nil
		})
}

// continueRun puts the briefing of the caller's run into the conversation.
func (h *Hosts) continueRun(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	who, ok := principalOf(ctx)
	if !ok {
		return nil, errors.New("the caller is not known")
	}
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	run, err := h.look(ctx, who, r.Params.Arguments[tools.RunField])
	if err == nil && run == nil {
		err = tools.Refusef("You have no open run. Name one with run_id.")
	}
	var st *standing
	if err == nil {
		st, err = h.standing(ctx, run)
	}
	if err != nil {
		return nil, errors.New(h.excuse("prompts/get", "", err))
	}
	return asked("Go on with run "+run.ID, h.o.Domain.System+"\n\nGo on with run "+run.ID+" ("+string(st.Status)+"). "+st.Next+" "+howToWork+"\n\n"+st.Briefing), nil
}

func asked(what, text string) *mcp.GetPromptResult {
	return mcp.NewGetPromptResult(what, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))})
}
