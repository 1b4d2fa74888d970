package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
)

// addKeysFlag adds --keys to a command and its subcommands.
func (p *program) addKeysFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&p.keyFile, "keys", "", "file with API keys, which "+p.Name+" keys writes (default $"+p.variable("keys")+")")
	cmd.MarkPersistentFlagFilename("keys")
}

// keysFile returns the name of the key file, or "".
func (p *program) keysFile() string { return cmp.Or(p.keyFile, os.Getenv(p.variable("keys"))) }

// explainKeys adds the remedy to an error of a key file.
func (p *program) explainKeys(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; create it with %s keys add NAME --keys FILE", err, p.Name)
	}
	return err
}

func (p *program) newKeys() *cobra.Command {
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Add, list and revoke the API keys in a file",
		Long: `Add, list and revoke API keys in a file. The command serve reads it with the same --keys, and
again within a second after a change.

A line of the file is NAME sha256:HEX [SCOPE…]: the name of the caller, which events record as their
actor, the hash of the key, and its scopes. A key without scopes bypasses them. To replace a key, add
another with the same name, update the client, and revoke the old one by its hash.`,
	}
	var asJSON bool
	keys.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	p.addKeysFlag(keys)
	// add adds a subcommand. do returns the value to print as JSON, and the text for a terminal.
	add := func(use, short, long, example string, args cobra.PositionalArgs, do func(file string, args []string) (value any, text string, err error)) {
		keys.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Args: args,
			Example: "  " + p.Name + " keys " + strings.ReplaceAll(example, "\n", "\n  "+p.Name+" keys "),
			RunE: func(cmd *cobra.Command, args []string) error {
				file := p.keysFile()
				if file == "" {
					return terminal.Usagef("keys needs --keys FILE or %s", p.variable("keys"))
				}
				value, text, err := do(file, args)
				switch {
				case err != nil:
					return p.explainKeys(err)
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), value)
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			},
		})
	}
	add("add NAME [SCOPE…]", "Add a key, and print it", `Add a random key to the file, which is created if needed, and print the key. The file has only its hash,
so the key cannot be printed again. With scopes, callers with the key may use only what they allow.`,
		"add alice --keys api.keys\nadd reporter posts:read --keys api.keys", mcpcli.MinimumArgs("alice"),
		func(file string, args []string) (any, string, error) {
			k, key, err := auth.AddKey(file, args[0], args[1:])
			return struct {
				auth.Key
				Secret string `json:"key"`
			}{k, key}, key + "\n", err
		})
	add("list", "List the keys", "List the keys in the file, the oldest first: the caller, the first digits of the hash, and the scopes.",
		"list --keys api.keys", nil,
		func(file string, _ []string) (any, string, error) {
			keys, err := auth.ReadKeys(file)
			return append([]auth.Key{}, keys...), table(keys), err
		})
	add("revoke NAME", "Revoke the keys of a caller, or one key", `Remove all keys of a name from the file, or one key by the first digits of its hash, as in sha256:3f9a.
Servers refuse the key within a second, and end its streams. Calls in flight finish.`,
		"revoke alice --keys api.keys\nrevoke sha256:3f9a --keys api.keys", mcpcli.ExactArgs("alice"),
		func(file string, args []string) (any, string, error) {
			keys, err := auth.RevokeKeys(file, args[0])
			return keys, "Revoked:\n" + table(keys), err
		})
	return keys
}

// table returns a line for each key.
func table(keys []auth.Key) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%.19s\t%s\n", k.Name, k.Sum, cmp.Or(strings.Join(k.Scopes, " "), "(all scopes)"))
	}
	w.Flush() // cannot fail
	return text.String()
}
