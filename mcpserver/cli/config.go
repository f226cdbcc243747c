package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// shownSetting is one line of "config show".
type shownSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"` // "(hidden)" for a secret
	Origin Origin `json:"origin"`
	Where  string `json:"where,omitempty"`
}

func (a *app) configCommand() *cobra.Command {
	show := &cobra.Command{
		Use:     "show",
		Short:   "Print every setting and where it is from; no secrets",
		Example: "  orderdesk config show\n  orderdesk config show --json",
		Args:    upTo(0),
		RunE:    a.with(a.configShow),
	}
	var names []string
	for _, d := range definitions() {
		if d.source != notFlag && d.name != "data_dir" { // every command has --data-dir
			names = append(names, d.name)
		}
	}
	bind(show, show.Flags(), names...)
	cmd := parent("config", "Show the settings", show)
	cmd.Long = helpSettings + "\n\n" + listSettings(definitions())
	return cmd
}

// listSettings says of each setting what it is called where.
func listSettings(defs []definition) string {
	out := "In the file: "
	for i, d := range defs {
		if d.source == onlyFlag {
			continue
		}
		if i > 0 {
			out += ", "
		}
		if i%6 == 5 {
			out += "\n"
		}
		out += d.name
	}
	return out + ".\nThe file is named by " + envConfig + "."
}

func (a *app) configShow(_ context.Context, s *Settings, _ []string) error {
	shown := showSettings(definitions(), s.from)
	return a.out.result(map[string]any{"settings": shown}, func() {
		t := a.out.table("SETTING", "VALUE", "FROM")
		for _, v := range shown {
			from := string(v.Origin)
			if v.Where != "" {
				from += " " + v.Where
			}
			t.row(v.Name, v.Value, from)
		}
		t.print()
	})
}

func showSettings(defs []definition, from map[string]resolved) []shownSetting {
	var out []shownSetting
	for _, d := range defs {
		r := from[d.name]
		if d.secret && r.value != "" {
			r.value = "(hidden)"
		}
		out = append(out, shownSetting{d.name, r.value, r.origin, r.where})
	}
	return out
}
