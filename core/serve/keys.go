package serve

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// addKeysFlag adds --keys to a command and its subcommands.
func (p *program) addKeysFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&p.keyFile, "keys", os.Getenv(p.variable("keys")), "file with API keys, which "+p.Name+" keys writes; $"+p.variable("keys")+" sets it too")
	cmd.MarkPersistentFlagFilename("keys")
}

func (p *program) newKeys() *cobra.Command {
	var asJSON bool
	keys := &cobra.Command{
		Use:   "keys",
		Short: "Add, list and revoke API keys in a file",
		Long: `Add, list and revoke API keys in a file. Servers with the same --keys read it again within a second.

A line of the file is NAME sha256:HEX [SCOPE…]: the name of the caller, which events record as their
actor, the hash of the key, and its scopes. A key without scopes bypasses them. To replace a key, add
another one with the same name, update the client, and revoke the old one by its hash.`,
	}
	p.addKeysFlag(keys)
	keys.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	add := func(do func(args []string) ([]auth.Key, error), args cobra.PositionalArgs, use, example, short, long string) {
		keys.AddCommand(&cobra.Command{
			Use: use, Short: short, Long: long, Example: "  " + p.Name + " keys " + example + " --keys api.keys", Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				if p.keyFile == "" {
					return terminal.Usagef("keys needs --keys FILE or %s", p.variable("keys"))
				}
				all, err := do(args)
				switch {
				case err != nil:
					return err
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), append([]auth.Key{}, all...))
				}
				for _, k := range all {
					line := fmt.Sprintf("%-16s  %.19s  %s", k.Name, k.Sum, strings.Join(k.Scopes, " "))
					fmt.Fprintln(cmd.OutOrStdout(), cmp.Or(k.Key, strings.TrimSpace(line)))
				}
				return nil
			},
		})
	}
	add(func(args []string) ([]auth.Key, error) {
		k, err := auth.AddKey(p.keyFile, args[0], args[1:])
		return []auth.Key{k}, err
	}, mcpcli.MinimumArgs("alice"), "add NAME [SCOPE…]", "add alice", "Add a key, and print it",
		"Add a random key to the file, which is created if needed, and print the key. It cannot be printed again.")
	add(func([]string) ([]auth.Key, error) { return auth.ReadKeys(p.keyFile) }, nil, "list", "list", "List the keys", "List the keys, the oldest first: name, first digits of the hash, scopes.")
	add(func(args []string) ([]auth.Key, error) { return auth.RevokeKeys(p.keyFile, args[0]) },
		mcpcli.ExactArgs("alice"), "revoke NAME", "revoke alice", "Revoke all keys of a name, or one key",
		`Remove all keys of a name, or one key by the first digits of its hash, such as sha256:3f9a. Print what was
removed. Servers refuse the keys within a second, and end their streams. Calls in flight finish.`)
	return keys
}
