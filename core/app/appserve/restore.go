package appserve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app"
)

func (d *Data) newRestore() *cobra.Command {
	var am app.Amendment
	var force bool
	cmd := &cobra.Command{
		Use:   "restore SEQ --reason WHY",
		Short: "Undo log skip or log map for an entry",
		Long: `Undo log skip or log map for an entry: it is read as it was recorded. All amendments stay in the log, with their reasons.
Running servers pick the change up.

The change is tried first: if the entry cannot be applied as it was recorded, or the change breaks a later one, nothing
is recorded.`,
		Example: d.examples("log restore 17 --reason 'the import of May was right after all'"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.amend(cmd, args[0], am, force, "is read as it was recorded")
		},
	}
	amendFlags(cmd, &am, &force)
	return cmd
}

// complete fills an amendment in from the record. An amendment that neither skips nor has a type restores.
func complete(ctx context.Context, store app.Store, record app.Record, am app.Amendment) (app.Amendment, error) {
	if am.Skip {
		return am, nil
	}
	if am.Type == "" {
		all, err := app.Amendments(ctx, store)
		if err != nil {
			return am, err
		}
		if before, ok := all[am.Seq]; !ok || restores(before, record) {
			return am, fmt.Errorf("entry %d is read as it was recorded: there is nothing to take back", am.Seq)
		}
		am.Type = record.Type
	}
	if am.Version == 0 {
		am.Version = record.Version
	}
	if am.Data == nil {
		am.Data = record.Data
	}
	return am, nil
}

// restores reports whether an amendment equals the record.
func restores(am app.Amendment, r app.Record) bool {
	return !am.Skip && am.Type == r.Type && am.Version == r.Version && sameJSON(am.Data, r.Data)
}

// sameJSON reports whether two texts are equal as JSON values.
func sameJSON(one, other []byte) bool {
	var values [2]any
	for i, text := range [][]byte{one, other} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return bytes.Equal(one, other)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
