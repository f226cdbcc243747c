package cli

import (
	"encoding/json"
	"errors"
	"time"

	"orderdesk/approvalgate"
	"orderdesk/runstore"
	"orderdesk/tools"
)

// storeError turns what the store and the gate answer into errors for people.
// Anything else stays as it is.
func storeError(err error, dir string) error {
	if err == nil {
		return nil
	}
	for _, known := range []func(error, string) *Error{storeFault, runFault, gateFault} {
		if e := known(err, dir); e != nil {
			return e
		}
	}
	return err
}

func storeFault(err error, dir string) *Error {
	var (
		locked  *runstore.LockedError
		damaged *runstore.DamagedError
		version *runstore.VersionError
		full    *runstore.DiskFullError
		unfit   *runstore.DirError
	)
	switch {
	case errors.As(err, &damaged):
		return &Error{Code: "store_damaged", Exit: ExitStore, Message: damaged.Error() + "; nothing was changed",
			Hint: "orderdesk doctor --data-dir " + dir + " says what is wrong"}
	case errors.As(err, &version):
		return &Error{Code: "store_newer", Exit: ExitStore, Message: version.Error(), Hint: "use the newer orderdesk"}
	case errors.As(err, &locked):
		return &Error{Code: "store_locked", Exit: ExitStore, Message: locked.Error(), Hint: "end that process, or wait for it"}
	case errors.As(err, &full):
		return &Error{Code: "disk_full", Exit: ExitStore, Message: full.Error() + "; what was reported before is saved", Hint: "make room, then orderdesk resume"}
	case errors.As(err, &unfit):
		return configError(unfit.Error(), "--data-dir DIR")
	case errors.Is(err, runstore.ErrFailed), errors.Is(err, runstore.ErrClosed):
		return &Error{Code: "store_failed", Exit: ExitStore, Message: "the store could not be written; what was reported before is saved",
			Hint: "orderdesk doctor, then orderdesk resume"}
	}
	return nil
}

func runFault(err error, _ string) *Error {
	var held *runstore.HeldError
	switch {
	case errors.As(err, &held):
		return &Error{Code: "held", Exit: ExitRefused, Message: held.Error() + "; nothing was done", Hint: "orderdesk status " + held.Run}
	case errors.Is(err, runstore.ErrLeaseLost):
		return &Error{Code: "lease_lost", Exit: ExitRefused, Message: "another worker has taken the run over; this one stopped", Hint: "orderdesk status"}
	}
	return nil
}

// gateFault knows the gate's refusals by what they have in common: what to
// type next.
func gateFault(err error, _ string) *Error {
	var r interface {
		error
		Hint() string
	}
	if errors.As(err, &r) {
		e := &Error{Code: "refused", Exit: ExitRefused, Message: r.Error(), Hint: r.Hint()}
		switch r.(type) {
		case *approvalgate.InputError:
			e.Code, e.Exit = "usage", ExitUsage
		case *approvalgate.NotFoundError:
			e.Code, e.Exit = "not_found", ExitUsage
		}
		return e
	}
	if refusal, ok := tools.AsRefusal(err); ok {
		return &Error{Code: "refused", Exit: ExitRefused, Message: refusal.Text}
	}
	return nil
}

// errorText is the error in a tool's result.
func errorText(result string) string {
	var r struct{ Error string }
	if json.Unmarshal([]byte(result), &r) != nil {
		return ""
	}
	return r.Error
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
