package appserve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/app/sqlite"
)

func (d *Data) newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the data to a file, also while servers run",
		Long: `Copy the data to a new file, consistently, also while servers run. To restore it, stop all servers and put
the file into an empty data folder as ` + fileName + `.`,
		Example: d.examples("backup " + d.program + "-monday.db"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("finding %s: %w; give it as an absolute path", args[0], err)
			}
			if err := free(file); err != nil {
				return err
			}
			return d.with(cmd.Context(), func(store *sqlite.Store) error {
				if err := store.Backup(cmd.Context(), file); err != nil {
					return fmt.Errorf("copying the data to %s: %w", file, err)
				}
				info, err := os.Stat(file)
				if err != nil {
					return fmt.Errorf("looking at the copy: %w", err)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Copied to %s, %d bytes.\n", file, info.Size())
				return err
			})
		},
	}
}

// free returns an error if a file exists, or its folder does not.
func free(file string) error {
	switch _, err := os.Lstat(file); {
	case err == nil:
		return fmt.Errorf("%s is there already; name another file, or remove it", file)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("looking for the file of the copy: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s; make it first", filepath.Dir(file))
	}
	return nil
}
