package cli

import (
	"errors"
	"path/filepath"
)

// errNoHome says that the environment names no home directory to put files in.
var errNoHome = errors.New("the environment names no home directory")

// dataDir is where the store is kept when no setting says otherwise.
func dataDir(goos string, getenv func(string) string) (string, error) {
	switch dir := getenv("XDG_DATA_HOME"); {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "orderdesk"), nil
	case goos == "windows":
		return below(getenv("LOCALAPPDATA"), "orderdesk", "data")
	case goos == "darwin":
		return below(getenv("HOME"), "Library", "Application Support", "orderdesk", "data")
	}
	return below(getenv("HOME"), ".local", "share", "orderdesk")
}

// stateDir is where the log of internal errors is kept.
func stateDir(goos string, getenv func(string) string) (string, error) {
	switch dir := getenv("XDG_STATE_HOME"); {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "orderdesk"), nil
	case goos == "windows":
		return below(getenv("LOCALAPPDATA"), "orderdesk", "log")
	case goos == "darwin":
		return below(getenv("HOME"), "Library", "Logs", "orderdesk")
	}
	return below(getenv("HOME"), ".local", "state", "orderdesk")
}

// configFile is the configuration file that is read when none is named.
func configFile(goos string, getenv func(string) string) (string, error) {
	switch dir := getenv("XDG_CONFIG_HOME"); {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "orderdesk", "config.json"), nil
	case goos == "windows":
		return below(getenv("APPDATA"), "orderdesk", "config.json")
	case goos == "darwin":
		return below(getenv("HOME"), "Library", "Application Support", "orderdesk", "config.json")
	}
	return below(getenv("HOME"), ".config", "orderdesk", "config.json")
}

func below(home string, parts ...string) (string, error) {
	if home == "" {
		return "", errNoHome
	}
	return filepath.Join(append([]string{home}, parts...)...), nil
}
