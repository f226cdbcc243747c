package cli

import (
	"bytes"
	"io"

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
			var script bytes.Buffer
			if err := completionScript(cmd, args[0], &script); err != nil {
				return err
			}
			return a.out.result(map[string]string{"script": script.String()}, func() { _, _ = script.WriteTo(a.out.stdout) })
		},
	}
}

func completionScript(cmd *cobra.Command, shell string, w io.Writer) error {
	switch root := cmd.Root(); shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return usageError("no completion for "+shell, cmd.UseLine())
}
