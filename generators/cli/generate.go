package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

func newGenerate(env Env, all []gen.Generator) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate KIND NAME …",
		Aliases: []string{"g"},
		Short:   "Add a component to the project: a tool, a resource, a prompt, a feature, a generator",
		Long: `Add a component to the project. What is generated is type-checked together with the rest
of the project before anything is written, and written whole or not at all. It is recorded,
so that undo can take it back. With --dry-run it is kept as a plan, which apply writes.

With --body a component comes with its code, and with --examples with a test; then they are built and
run too before anything is written, in a process with limits on time, memory and output.

A generator that the project adds for itself is one more kind.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "g resource note 'note://{id}'", "g prompt review code 'style:enum(short,long)?'", "g tool search query 'limit:int:1..100' --dry-run", "g tool --from ./store.Find", "g feature posts --crud title 'body:string?'"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			why := ""
			if noExec, _ := cmd.Flags().GetBool("no-exec"); noExec {
				why = ", and with --no-exec none of the project's own"
			}
			return fmt.Errorf("there is no generator %q; there are %s%s", args[0], strings.Join(kinds(all), ", "), why)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	new(common).flags(cmd, true) // so that an unknown kind is reported, not an unknown flag
	cmd.Flags().Bool("no-exec", false, "run nothing: type-check what is generated, and leave its examples to go test")
	for _, g := range all {
		cmd.AddCommand(newGenerator(env, g))
	}
	return cmd
}

func kinds(all []gen.Generator) []string {
	var names []string
	for _, g := range all {
		names = append(names, g.Name)
	}
	return names
}

// newGenerator is the command of one generator. Its arguments and flags are the properties of
// the generator's input.
func newGenerator(env Env, g gen.Generator) *cobra.Command {
	var c common
	noExec := false
	form, err := newForm(g.InputSchema)
	short, _, _ := strings.Cut(g.Description, ":")
	short, _, _ = strings.Cut(short, ". ")
	cmd := &cobra.Command{
		Use:               g.Name + form.usage(),
		Short:             strings.TrimSuffix(short, "."),
		Long:              g.Description + "\n\n" + form.help(),
		Example:           examples(env, example(g.Name, form)...),
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			return form.check(g.Name, args, cmd.Flags().Changed("input"))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err != nil {
				return err
			}
			input, err := form.fill(cmd, args)
			if err != nil {
				return err
			}
			return work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Generate(ctx, g.Name, input, engine.Options{DryRun: c.dryRun, NoExec: noExec})
			}, printResult)
		},
	}
	c.flags(cmd, true)
	form.flags(cmd)
	cmd.Flags().BoolVar(&noExec, "no-exec", false, "run nothing: type-check what is generated, and leave its examples to go test")
	return cmd
}

// example is how a generator may be used.
func example(kind string, f *form) []string {
	switch kind {
	case "tool":
		return []string{
			`generate tool send_mail to 'subject "What it is about"' --description 'Sends a mail.'`,
			`generate tool search query 'limit:int:1..100' 'order:enum(up,down)?' --output 'hits:[]string'`,
			`generate tool shout text --body 'return ShoutOutput{Result: strings.ToUpper(in.Text)}, nil' --examples '{"input":{"text":"a"},"output":{"result":"A"}}'`,
			`generate tool --from ./store.Find`,
		}
	case "resource":
		return []string{`generate resource note 'note://{id}' --description 'The text of a note.'`, `generate resource settings config://settings`}
	case "prompt":
		return []string{`generate prompt review code 'style:enum(short,long)?' --description 'Asks for a review.'`}
	case "feature":
		return []string{`generate feature posts --crud 'title:string:1..200' 'body:string?'`, `generate feature accounts`}
	case "command":
		return []string{
			`generate command posts/publish id --description 'Publishes a post.'`,
			`generate command posts/publish id --check 'return s.known(c.ID)' --body 's.Posts[c.ID].Public = true; return PublishOutput{}'`,
		}
	case "query":
		return []string{`generate query posts/count --output 'count:int' --body 'return CountOutput{Count: len(s.Posts)}, nil'`}
	case "worker":
		return []string{`generate worker posts/digest --on posts/create`, `generate worker posts/sweep --every 5m`}
	case "version":
		return []string{
			`generate version posts/create --rename body=text`,
			`generate version posts/create --drop draft --default status=open`,
			`generate version orders/place --rename items.url=items.href`,
		}
	case "generator":
		return []string{`generate generator handler --description 'Makes a handler.'`, `generate handler first`}
	}
	return []string{"generate " + kind + f.usage()}
}
