package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
)

// stream writes the run as one JSON object, a plan line and an action at a
// time, so that a long list is not held in memory twice.
func (v *runView) stream(out io.Writer) error {
	w := bufio.NewWriter(out)
	head, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, _ = w.Write(head[:len(head)-len("\n}")])
	if err := streamList(w, "plan", v.Plan); err != nil {
		return err
	}
	if err := streamList(w, "actions", v.Actions); err != nil {
		return err
	}
	_, _ = w.WriteString("\n}\n")
	return w.Flush()
}

func streamList[T json.Marshaler](w *bufio.Writer, name string, items []T) error {
	_, _ = w.WriteString(",\n  " + strconv.Quote(name) + ": [")
	for i, item := range items {
		raw, err := item.MarshalJSON()
		if err != nil {
			return err
		}
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.WriteString("\n    ")
		_, _ = w.Write(raw)
	}
	_ = w.WriteByte(']')
	return nil
}
