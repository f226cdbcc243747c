package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo says what was built.
type versionInfo struct {
	Version  string `json:"version"` // "devel" for a build from source
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  upTo(0),
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return a.out.result(v, func() { a.out.say("orderdesk %s (%s, %s)", v.Version, v.Go, v.System) })
		},
	}
}

func buildVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if tag := info.Main.Version; tag != "" && tag != "(devel)" {
		v.Version = tag
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
