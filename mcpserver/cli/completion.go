package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands in a shell",
		Example: "  source <(orderdesk completion bash)\n" +
			"  orderdesk completion zsh > \"${fpath[1]}/_orderdesk\"\n" +
			"  orderdesk completion fish > ~/.config/fish/completions/orderdesk.fish\n" +
			"  orderdesk completion powershell | Out-String | Invoke-Expression",
		ValidArgs: shells,
		Args:      exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), a.out.stdout
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return usageError("no completion for "+args[0], cmd.UseLine())
		},
	}
}
